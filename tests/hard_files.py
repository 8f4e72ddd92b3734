"""Files that two readers could read differently, and the tables that they are, if they are any.

A case is its files, how they are said to be written, and the truth: the names of the columns and
the rows, None for a missing cell; or, where there is no table, words of the message.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from dataclasses import dataclass, field

import pyarrow as pa

SECRET = "Xavier-7741"
LONGEST = 131_072


@dataclass(frozen=True)
class Case:
    files: dict
    names: list | None = None
    rows: list = field(default_factory=list)
    refused: str | tuple = ""
    encoding: str | None = None
    sep: str | None = None
    # Where Spark's reader cannot be told to agree it refuses: the words.
    spark_refuses: str = ""

    @property
    def format(self):
        return "jsonl" if any(".json" in name for name in self.files) else "csv"


def table(content, names, *rows, name="t.csv", **more):
    given = content if isinstance(content, dict) else {name: content}
    return Case({key: _bytes(text) for key, text in given.items()}, names, list(rows), **more)


def refused(content, words, *, name="t.csv", **more):
    given = content if isinstance(content, dict) else {name: content}
    return Case({key: _bytes(text) for key, text in given.items()}, refused=words, **more)


def _bytes(text):
    return text.encode() if isinstance(text, str) else text


def zipped(**members):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return target.getvalue()


def zst(text):
    return pa.Codec("zstd").compress(text.encode(), asbytes=True)


def sheet():
    return zipped(**{"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<workbook/>"})


AB = ["a", "b"]
PLAIN = "a,b\n1,2\n"
ZST = zst(PLAIN)
UMLAUTS = "name,a\nMüller,1\nMöller,2\n"
TRUE_UMLAUTS = (["name", "a"], ("Müller", "1"), ("Möller", "2"))

QUOTES = {
    "quoted": table('a,b\n"1,5","x y"\n', AB, ("1,5", "x y")),
    "doubled quotes": table('a,b\n"say ""hi""",""""\n', AB, ('say "hi"', '"')),
    "backslash before a quote": table('a,b\n"x\\",y\n', AB, ("x\\", "y")),
    "backslash before a doubled quote": table('a,b\n"x\\""z",y\n', AB, ('x\\"z', "y")),
    "quotes in unquoted cells": table('a,b\n5" pipe,x"y"z\n', AB, ('5" pipe', 'x"y"z')),
    "a space before a quote": table('a,b\n "x",y\n', AB, (' "x"', "y")),
    "text after a closing quote": refused(f'a,b\n"{SECRET}"y,1\n', "quotation mark"),
    "a space after a closing quote": refused(f'a,b\n"{SECRET}" ,1\n', "quotation mark"),
    "a tab after the last quote": refused('a,b\n1,"x"\t\n', "quotation mark"),
    "unclosed in the first line of rows": refused(f'a,b\n"{SECRET},1\n2,3\n', "quotation mark"),
    "unclosed in the last cell": refused(f'a,b\n1,"{SECRET}\n2,3\n', "quotation mark"),
    "unclosed at the very end": refused('a,b\n1,"', "quotation mark"),
    "unclosed, and one in an unquoted cell": refused('a,b\n5",1\n2,"x\n3,4\n', "quotation mark"),
    "empty and quoted empty": table('a,b,c\n,"",x\n', ["a", "b", "c"], (None, None, "x")),
}
LINES = {
    "LF in a cell": table('a,b\n"x\ny",1\nz,2\n', AB, ("x\ny", "1"), ("z", "2")),
    "CRLF in a cell": table('a,b\r\n"x\r\ny",1\r\nz,2\r\n', AB, ("x\r\ny", "1"), ("z", "2")),
    "CR in a cell": table('a,b\n"x\ry",1\nz,2\n', AB, ("x\ry", "1"), ("z", "2")),
    "LF in a cell, rows end in CRLF": table(
        'a,b\r\n"x\ny",1\r\nz,2\r\n', AB, ("x\ny", "1"), ("z", "2")
    ),
    "CRLF in a cell, rows end in LF": table(
        'a,b\n"x\r\ny",1\nz,2\n', AB, ("x\r\ny", "1"), ("z", "2")
    ),
    "LF in a cell, rows end both ways": table(
        'a,b\n"x\ny",1\r\nz,2\r\n', AB, ("x\ny", "1"), ("z", "2"), spark_refuses="more than one way"
    ),
    "CRLF and LF in cells, rows end in CRLF": table(
        'a,b\r\n"x\r\ny",1\r\n"x\ny",1\r\n',
        AB,
        ("x\r\ny", "1"),
        ("x\ny", "1"),
        spark_refuses="more than one way",
    ),
    "quotes and commas around a line end": table(
        'a,b\n"x"",\n,""y","1\n2"\n', AB, ('x",\n,"y', "1\n2")
    ),
    "a quote in a cell beside a line end": table(
        'a,b\n5",1\n"x\ny",2\n',
        AB,
        ('5"', "1"),
        ("x\ny", "2"),
        spark_refuses="stands in a cell without quotation marks",
    ),
    "a line end in a name": table('"a\nx",b\n1,2\n', ["a\nx", "b"], ("1", "2")),
    "CR only": table("a,b\r1,2\r3,4\r", AB, ("1", "2"), ("3", "4")),
    "CRLF": table("a,b\r\n1,2\r\n3,4\r\n", AB, ("1", "2"), ("3", "4")),
    "mixed": table("a,b\n1,2\r\n3,4\r5,6\n", AB, ("1", "2"), ("3", "4"), ("5", "6")),
    "mixed, the other way": table("a,b\r\n1,2\n3,4", AB, ("1", "2"), ("3", "4")),
    "no final line end": table("a,b\n1,2", AB, ("1", "2")),
    "no final line end after CRLF and a cell": table('a,b\r\n"x\ny",2', AB, ("x\ny", "2")),
    "other ends of lines": table(
        "a,b\n1\u20282,x\x85y\n3\x0b4,z\x0cw\n", AB, ("1\u20282", "x\x85y"), ("3\x0b4", "z\x0cw")
    ),
    "blank lines": table("\n\na,b\n\n1,2\n\n\n3,4\n\n", AB, ("1", "2"), ("3", "4")),
    "blank lines, one column": refused("a\n1\n\n2\n", "is blank"),
    "blank lines before one column": table('\n\na\n1\n""\n', ["a"], ("1",), (None,)),
    "a blank line in a cell, one column": table('a\n"x\n\ny"\n1\n', ["a"], ("x\n\ny",), ("1",)),
    "a blank line after such a cell": refused('a\n"x\n\ny"\n\n1\n', "is blank"),
    "spaces alone, one column": table("a\n1\n  \n", ["a"], ("1",), ("  ",)),
    "spaces alone, two columns": refused("a,b\n1,2\n  \n", ("cell", "could not")),
    "comment-like lines": table("a,b\n#1,2\n# x,3\n", AB, ("#1", "2"), ("# x", "3")),
    "a comment before the names": refused(f"# {SECRET}\na,b\n1,2\n", "cell"),
}
NAMES = {
    "BOM": table(b"\xef\xbb\xbfa,b\n1,2\n", AB, ("1", "2")),
    "BOM and quoted names": table(b'\xef\xbb\xbf"a","b"\n1,2\n', AB, ("1", "2")),
    "BOM, and a cell with a line end": table(b'\xef\xbb\xbfa,b\n"1\n",2\n', AB, ("1\n", "2")),
    "only a BOM": refused(b"\xef\xbb\xbf", "empty"),
    "empty": refused("", "empty"),
    "only blank lines": refused("\n\r\n\n", "empty"),
    "header only": table("a,b\n", AB),
    "one name twice": refused("a,b,a\n1,2,3\n", "'a' is the name of 2 columns"),
    "names that differ by case": table("a,A\n1,2\n", ["a", "A"], ("1", "2")),
    "an empty name, as of an index": table(",a\n0,1\n", ["", "a"], ("0", "1")),
    "white space": table(" a,b ,c\td\n x, y , \n", [" a", "b ", "c\td"], (" x", " y ", " ")),
    "odd names": table(
        "a.b,`c`,anonrisk cell 0\n1,2,3\n", ["a.b", "`c`", "anonrisk cell 0"], tuple("123")
    ),
    "spaces that are not seen": table(
        "a\xa0,\u200bb\n1\xa0,\u200b2\n", ["a\xa0", "\u200bb"], ("1\xa0", "\u200b2")
    ),
    "too few cells": refused(f"a,b\n1,2\n{SECRET}\n", "1 cell"),
    "too many cells": refused(f"a,b\n1,2\n{SECRET},2,3\n", "3 cells"),
    "too many quoted cells": refused(f'a,b\n1,2\n"{SECRET}","2","3"\n', ("3 cells", "could not")),
    "cells that others call missing": table(
        "a\nNA\nnull\nNaN\n\\N\nnan\nNone\n",
        ["a"],
        *((text,) for text in ("NA", "null", "NaN", "\\N", "nan", "None")),
    ),
    "leading zeros and many digits": table(
        "a,b\n007,1.10\n7,1.1\n", AB, ("007", "1.10"), ("7", "1.1")
    ),
    "the longest cell": table(f"a,b\n{'x' * LONGEST},1\n", AB, ("x" * LONGEST, "1")),
    "a cell that is too long": refused(f"a,b\n{'x' * 1_100_000},1\n", ("131,072", "could not")),
    "semicolons": table("a;b\n1,5;2\n", AB, ("1,5", "2"), sep=";"),
    "semicolons, not said": refused("a;b\n1;2\n", "--sep ';'"),
    "bars": table('a|b\n"1|5"|2\n', AB, ("1|5", "2"), sep="|"),
    "tabs": table("a\tb\n1,5\t2\n\t\n", AB, ("1,5", "2"), (None, None), name="t.tsv"),
    "a backslash separates": table("a\\b\n1\\2\n", AB, ("1", "2"), sep="\\"),
    "a caret separates": table('a^b\n"1^"^2\n', AB, ("1^", "2"), sep="^"),
    "NUL": refused(f"a,b\n{SECRET}\0,2\n", "NUL"),
    "UTF-16 that is not said": refused(PLAIN.encode("utf-16-le"), "NUL"),
    "a wide table": table(
        ",".join(f"n{i}" for i in range(99)) + "\n" + ",".join(map(str, range(99))) + "\n",
        [f"n{i}" for i in range(99)],
        tuple(map(str, range(99))),
    ),
}
LETTERS = {
    "Latin-1 that is not said": refused(UMLAUTS.encode("latin-1"), "--encoding latin-1"),
    "Latin-1 in a table with line ends in cells": refused(
        'name,a\n"x\ny",1\nM\xfcller,2\n'.encode("latin-1"), "--encoding latin-1"
    ),
    "a letter that is cut off": refused(b"a,b\nx\xc3,1\n", "not text in UTF-8"),
    "half a letter in UTF-8": refused(b"a,b\nx\xed\xa0\x80,1\n", "not text in UTF-8"),
    "letters that were lost before": table("a,b\nM\ufffdller,1\n", AB, ("M\ufffdller", "1")),
    **{
        encoding: table(UMLAUTS.encode(encoding), *TRUE_UMLAUTS, encoding=encoding)
        for encoding in ("latin-1", "cp1252", "utf-8", "utf-8-sig", "iso8859-15", "cp437")
    },
    **{
        encoding: table(UMLAUTS.encode(encoding), *TRUE_UMLAUTS, encoding=encoding)
        for encoding in ("mac-roman", "utf-16", "utf_16_le", "utf_16_be", "utf-32")
    },
    "gb2312": table(
        "a,b\n张,1\n王,2\n".encode("gb2312"), AB, ("张", "1"), ("王", "2"), encoding="gb2312"
    ),
    "Latin-1, and a cell with a line end": table(
        'a,b\n"M\xfc\n",1\nx,2\n'.encode("latin-1"), AB, ("Mü\n", "1"), ("x", "2"), encoding="L1"
    ),
    "UTF-16, and a cell with a line end": table(
        'a,b\r\n"ü\r\nઊĀ",1\r\nx,2\r\n'.encode("utf-16"),
        AB,
        ("ü\r\nઊĀ", "1"),
        ("x", "2"),
        encoding="utf-16",
    ),
    "UTF-16 with a mark that is said to have none": table(
        UMLAUTS.encode("utf-16"), *TRUE_UMLAUTS, encoding="utf-16-le"
    ),
    "UTF-16 without its mark": refused(
        UMLAUTS.encode("utf-16-le"), ("mark", "not text"), encoding="utf-16"
    ),
    "UTF-16 with the mark of the other": refused(
        UMLAUTS.encode("utf-16"), ("mark", "not text"), encoding="utf-16-be"
    ),
    "UTF-16 that is cut off": refused(
        UMLAUTS.encode("utf-16")[:-1], "not text in utf-16", encoding="utf-16"
    ),
    "a byte that is no letter": refused(
        b"a,b\n\x81,1\n\x8d,2\n", "not text in cp1252", encoding="cp1252"
    ),
    "a byte that is not ASCII": refused(b"a,b\n\xfc,1\n", "not text in ascii", encoding="ascii"),
    "big5": table(
        "a,b\n王,1\n".encode("big5"),
        AB,
        ("王", "1"),
        encoding="big5",
        spark_refuses="--encoding big5",
    ),
    "EBCDIC": table(
        UMLAUTS.encode("cp500"), *TRUE_UMLAUTS, encoding="cp500", spark_refuses="--encoding cp500"
    ),
}
PACKED = {
    "gz": table(gzip.compress(PLAIN.encode()), AB, ("1", "2"), name="t.csv.gz"),
    "gz in two pieces": table(
        gzip.compress(PLAIN.encode()) + gzip.compress(b"3,4\n"),
        AB,
        ("1", "2"),
        ("3", "4"),
        name="t.csv.gz",
    ),
    "gz that is cut off": refused(
        gzip.compress(PLAIN.encode() * 500)[:-30], ("damaged", "could not"), name="t.csv.gz"
    ),
    "gz without its sum": refused(
        gzip.compress(PLAIN.encode())[:-5], ("damaged", "could not"), name="t.csv.gz"
    ),
    "gz that is none": refused(PLAIN, ("damaged", "could not"), name="t.csv.gz"),
    "gz with something behind": refused(
        gzip.compress(PLAIN.encode()) + b"garbage", ("damaged", "could not"), name="t.csv.gz"
    ),
    "bz2": table(bz2.compress(PLAIN.encode()), AB, ("1", "2"), name="t.csv.bz2"),
    "bz2 that is cut off": refused(
        bz2.compress(PLAIN.encode() * 500)[:-20], ("damaged", "could not"), name="t.csv.bz2"
    ),
    "xz": table(
        lzma.compress(PLAIN.encode()),
        AB,
        ("1", "2"),
        name="t.csv.xz",
        spark_refuses="'t.csv.xz' is packed",
    ),
    "zip": table(
        zipped(inside=PLAIN),
        AB,
        ("1", "2"),
        name="t.csv.zip",
        spark_refuses="'t.csv.zip' is packed",
    ),
    "zip with two files": refused(
        zipped(one=PLAIN, two=PLAIN), ("must hold one", "is packed"), name="t.csv.zip"
    ),
    "zst": table(ZST, AB, ("1", "2"), name="t.csv.zst"),
    "zst in two pieces": table(ZST + zst("3,4\n"), AB, ("1", "2"), ("3", "4"), name="t.csv.zst"),
    "zst that is cut off": refused(ZST[:-3], ("damaged", "could not"), name="t.csv.zst"),
    "zst that is none": refused(PLAIN, ("damaged", "could not"), name="t.csv.zst"),
    "zst with something behind": refused(
        ZST + b"garbage", ("damaged", "could not"), name="t.csv.zst"
    ),
    "gz that is not called so": refused(gzip.compress(PLAIN.encode()), "not text in UTF-8"),
    "a spreadsheet by its name": refused(sheet(), "is a spreadsheet; save it", name="t.xlsx"),
    "an older one by its name": refused(b"", "is a spreadsheet; save it", name="t.XLS"),
    "an open one by its name": refused(b"", "is a spreadsheet; save it", name="t.ods"),
    "a spreadsheet that is called CSV": refused(sheet(), "is a spreadsheet"),
    "an older one that is called CSV": refused(
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500), "is a spreadsheet"
    ),
}
SEVERAL = {
    "another order": table(
        {"d/1.csv": "a,b\n1,2\n", "d/2 x.csv": "b,a\n4,3\n"}, AB, ("1", "2"), ("3", "4")
    ),
    "another order, with a name twice": refused(
        {"d/1.csv": "a,b,b\n1,2,3\n", "d/2.csv": "b,a,b\n4,3,5\n"}, "'b' is the name of 2 columns"
    ),
    "other columns": refused({"d/1.csv": "a,b\n1,2\n", "d/2.csv": "a,c\n1,2\n"}, "files differ"),
    "more columns": refused({"d/1.csv": "a,b\n1,2\n", "d/2.csv": "a,b,c\n1,2,3\n"}, "files differ"),
    "names that differ by case in files": refused(
        {"d/1.csv": "a,b\n1,2\n", "d/2.csv": "a,B\n1,2\n"}, "files differ"
    ),
    "an empty file among others": refused({"d/1.csv": "a,b\n1,2\n", "d/2.csv": ""}, "empty"),
    "folders that are a column": table(
        {"d/c=01/1.csv": "a,b\n1,2\n", "d/c=__HIVE_DEFAULT_PARTITION__/2.csv": "a,b\n3,4\n"},
        [*AB, "c"],
        ("1", "2", "01"),
        ("3", "4", None),
    ),
    "a folder for a column of the files": refused(
        {"d/a=01/1.csv": "a,b\n1,2\n"}, "in the files and in their folders"
    ),
    "folders and cells with line ends": table(
        {"d/c=x/1.csv": 'a,b\n"1\n",2\n'}, [*AB, "c"], ("1\n", "2", "x")
    ),
}


def lines(*objects):
    return "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in objects)


def json_table(content, names, *rows, **more):
    return table(content, names, *rows, name="t.jsonl", **more)


def no_json(content, words, **more):
    return refused(content, words, name="t.jsonl", **more)


OBJECT = "not one JSON object with each key once"
JSON = {
    "JSON": json_table(lines({"a": "1", "b": 2}, {"b": 3}), AB, ("1", 2), (None, 3)),
    "JSON with blank lines": json_table('\n{"a": "1"}\n \t\n\n{"a": "2"}', ["a"], ("1",), ("2",)),
    "JSON with CR": json_table('{"a": "1"}\r{"a": "2"}\r\n', ["a"], ("1",), ("2",)),
    "JSON with a BOM": json_table(b'\xef\xbb\xbf{"a": "1"}\n', ["a"], ("1",)),
    "a key twice": no_json(f'{{"a": "{SECRET}", "a": "2"}}\n', OBJECT),
    "a key twice, written differently": no_json('{"a": "1", "\\u0061": "2"}\n', OBJECT),
    "two objects in a line": no_json(f'{{"a": "1"}}{{"a": "{SECRET}"}}\n', OBJECT),
    "something behind the object": no_json('{"a": "1"} "x"\n', OBJECT),
    "an object over two lines": no_json('{"a":\n"1"}\n', OBJECT),
    "an array of objects": no_json(f'[{{"a": "{SECRET}"}}, {{"a": "2"}}]\n', OBJECT),
    "an array over lines": no_json('[\n{"a": "1"},\n{"a": "2"}\n]\n', OBJECT),
    "a text in a line": no_json(f'"{SECRET}"\n', OBJECT),
    "single quotes": no_json("{'a': '1'}\n", OBJECT),
    "a comma too many": no_json('{"a": "1",}\n', OBJECT),
    "an infinity that is none": no_json('{"a": +INF}\n', OBJECT),
    "braces and quotes in texts": json_table(lines({"a": '}{"\\', "b": "[,"}), AB, ('}{"\\', "[,")),
    "keys that differ by case": json_table(lines({"a": "1", "A": "2"}), ["a", "A"], ("1", "2")),
    "odd keys": json_table(
        lines({"_corrupt_record": "1", "x.y": "2", "é": "3"}),
        ["_corrupt_record", "x.y", "é"],
        ("1", "2", "3"),
    ),
    "null and empty": json_table(
        lines({"a": None, "b": ""}, {"a": "x"}), AB, (None, ""), ("x", None)
    ),
    "whole and other numbers": json_table(lines({"a": 1}, {"a": 1.5}), ["a"], (1.0,), (1.5,)),
    "large whole numbers": json_table(
        lines({"a": 2**60 + 1}, {"a": 2**60}), ["a"], (2**60 + 1,), (2**60,)
    ),
    "larger than 64 bits": json_table(
        lines({"a": 2**64 + 1}, {"a": 2**64}), ["a"], (2**64 + 1,), (2**64,)
    ),
    "true and false": json_table(lines({"a": True}, {"a": False}), ["a"], (True,), (False,)),
    "leading zeros in texts": json_table(lines({"a": "01"}, {"a": "1"}), ["a"], ("01",), ("1",)),
    "JSON in Latin-1 that is not said": no_json(
        '{"a": "M\xfcller"}\n'.encode("latin-1"), "--encoding latin-1"
    ),
    "JSON in Latin-1": json_table(
        '{"a": "M\xfcller"}\n'.encode("latin-1"), ["a"], ("Müller",), encoding="latin-1"
    ),
    "JSON in Latin-1, lines end in CRLF": json_table(
        '{"a": "\xfc"}\r\n\r\n{"a": "x"}\r\n'.encode("latin-1"),
        ["a"],
        ("ü",),
        ("x",),
        encoding="latin-1",
    ),
    "JSON in Latin-1, lines end in CR": json_table(
        '{"a": "\xfc"}\r{"a": "x"}\r'.encode("latin-1"),
        ["a"],
        ("ü",),
        ("x",),
        encoding="latin-1",
        spark_refuses=OBJECT,
    ),
    "letters that take two escapes": json_table('{"a": "\\ud83d\\ude00"}\n', ["a"], ("😀",)),
    "half a letter in JSON": json_table(
        '{"a": "\\ud83d"}\n', ["a"], ("\ud83d",), spark_refuses="half a character"
    ),
    "JSON in gz": table(gzip.compress(b'{"a": "1"}\n'), ["a"], ("1",), name="t.jsonl.gz"),
}
# Columns of two kinds: pandas keeps their cells apart and no engine measures them.
MIXED = {
    "a number and a text": lines({"a": 1}, {"a": "1"}),
    "a number and true": lines({"a": 1}, {"a": True}),
    "an object and a text": lines({"a": {"x": 1}}, {"a": '{"x":1}'}),
    "an array": lines({"a": ["1"]}, {"a": ["1"]}),
    "a float and a large whole number": lines({"a": 1.5}, {"a": 2**53 + 1}),
    "escaped key": '{"\\u0061": 1}\n{"a": "1"}\n',
}
CASES = {**QUOTES, **LINES, **NAMES, **LETTERS, **PACKED, **SEVERAL, **JSON}
