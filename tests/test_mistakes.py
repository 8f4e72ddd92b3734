"""What newcomers get wrong: each message names the culprit, says what to do, and quotes no cell.

A mistake is what somebody typed: a call, a policy, a command line. The words beside it must stand
in the message.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk import Policy, Release, errors
from anonrisk.cli import main

# In every column of text; no message may hold it.
CANARY = "Kanarienvogel"
TABLE = pd.DataFrame(
    {
        "zip": ["1011", "1011", CANARY, "1013"] * 3,
        "age": [34, 34, 51, 27] * 3,
        "sex": ["f", "f", CANARY, "m"] * 3,
        "ill": [CANARY, "flu", "flu", "hiv"] * 3,
        "pid": range(12),
    }
)

CALLS = [
    # names of columns
    ('df.anon.k("zipp")', "'zipp'", "did you mean 'zip'"),
    ('df.anon.k("ZIP")', "'ZIP'", "did you mean 'zip'"),
    ('df.anon.k("zip, age")', "'zip, age'", "write a list: ['zip', 'age']"),
    ('df.anon.k(["zip,age"])', "'zip,age'", "without a comma: 'zip' 'age'"),
    ('df.anon.k("zip", "age")', "k takes 1 argument", "a list: ['zip', 'age']"),
    ("df.anon.k([])", "the list is empty", "write ['zip', 'age']"),
    ("df.anon.k()", "no quasi-identifiers", "df.anon.k(['zip', 'age'])"),
    ('df.anon.k(df["zip"])', "not by a Series", "as in 'zip'"),
    ('df.anon.k(["zip", "zip"])', "'zip' is named twice", "leave one out"),
    ('df.anon.k("zip", unit="patient")', "unit 'patient'", "The table has 5 columns"),
    ('df.anon.k("zip", unit=["pid"])', "not by a list", "as in 'zip'"),
    ('df.anon.ldiv("zip")', "no sensitive column", "df.anon.declare(sensitive="),
    ('df.anon.ldiv("zip", "illness")', "'illness'", "did you mean 'ill'"),
    ('df.anon.ldiv(["zip"], ["ill", "zip"])', "'zip'", "both sensitive and quasi-identifier"),
    ('df.anon.find_qids(["zipp"])', "'zipp'", "did you mean 'zip'"),
    ('df.anon.summary("zip", by="ages")', "'ages'", "did you mean 'age'"),
    ('df.anon.declare(quasi=["zip", "zipp"])', "'zipp'", "did you mean 'zip'"),
    ('df.anon.declare(quasi="zip", sensitive="zip")', "'zip'", "both quasi-identifier and"),
    ("df.anon.declare()", "no role given", "declare(quasi=[…]"),
    ('df.anon.whole_person("zip")', "no unit", "unit='patient'"),
    # names of other tools
    ('df.anon.k_anonymity(["zip"])', "'k_anonymity'", "did you mean 'k'"),
    ('df.anon.l_diversity(["zip"], "ill")', "'l_diversity'", "did you mean 'ldiv'"),
    ('df.anon.entropy_l_diversity(["zip"], "ill")', "did you mean 'ldiv'"),
    ('df.anon.t_closeness(["zip"], "ill")', "'t_closeness'", "did you mean 'tcloseness'"),
    ('df.anon.equivalence_classes(["zip"])', "'equivalence_classes'", "did you mean 'classes'"),
    ("df.anon.quasi_identifiers()", "'quasi_identifiers'", "did you mean 'find_qids'"),
    ('df.anon.reidentification_risk(["zip"])', "did you mean 'risk'"),
    ('df.anon.anonymize(["zip"], k=5)', "'anonymize'", "df.anon.apply(df.anon.plan([…], k=5))"),
    ('df.anon.localSuppression(["zip"])', "did you mean 'suppress'"),
    ('df.anon.globalRecode("zip")', "did you mean 'generalize'"),
    ('df.anon.addNoise("age")', "did you mean 'perturb'"),
    ('df.anon.hash("pid")', "did you mean 'pseudonymize'"),
    ("df.anon.check()", "'check'", "write anonrisk.Policy(quasi=[…], k=5).check(df)"),
    ("df.anon.analyze()", "'analyze'", "write anonrisk.Policy.draft(df)"),
    ("anonrisk.k_anonymity(df, ['zip'])", "'k_anonymity'", "did you mean 'k'"),
    ("anonrisk.find_quasi_identifiers(df)", "did you mean 'find_qids'"),
    ("anonrisk.check(df)", "'check'", "anonrisk.Policy(quasi=[…], k=5).check(df)"),
    # arguments
    ('df.anon.k(["zip"], k=5)', "no argument k=", "anonrisk.Policy(quasi=[…], k=5).check(df)"),
    ('df.anon.k(columns=["zip"])', "no argument columns=", "did you mean 'qids'"),
    ('df.anon.k(quasi_identifiers=["zip"])', "quasi_identifiers=", "did you mean 'qids'"),
    ('df.anon.k(["zip"], user="pid")', "no argument user=", "did you mean 'unit'"),
    ('df.anon.k("zip", missing="ignore")', "missing='ignore'", "'value', 'drop', 'error'"),
    ('df.anon.ldiv("zip", "ill", l=2)', "no argument l=", "ldiv=2).check(df)"),
    ('df.anon.ldiv("zip", "ill", variant="recursive")', "needs c=", "variant='recursive', c=2"),
    ('df.anon.ldiv("zip", "ill", "recursive", c=0)', "c must be a finite number above 0"),
    ('df.anon.ldiv("zip", "ill", c=2)', "c= belongs to variant='recursive'"),
    ('df.anon.ldiv("zip", "ill", kind="entropy")', "kind=", "write variant="),
    ('df.anon.ldiv("zip", "ill", variant="x")', "variant='x'", "'distinct', 'entropy'"),
    ('df.anon.tcloseness("zip", "ill", t=0.2)', "no argument t=", "'t': 0.2"),
    ('df.anon.tcloseness("zip", "ill", distance="emd")', "distance='emd'", "'ordered'"),
    ('df.anon.tcloseness("zip", "ill", distance="ordered")', "'ill'", "give order=[…]"),
    ('df.anon.tcloseness("zip", "ill", distance="hierarchical")', "give both"),
    ('df.anon.at_risk("zip", k="5")', "k must be a whole number, at least 1"),
    ('df.anon.predict_singletons("zip")', "group_size is not given", "how many people"),
    ('df.anon.predict_singletons("zip", 0)', "group_size", "at least 1"),
    ('df.anon.predict_singletons("zip", 2.5)', "group_size", "a whole number, at least 1"),
    ('df.anon.predict_classes("zip", 0)', "group_size", "at least 1"),
    ('df.anon.predict_singletons("zip", 1000)', "1,000", "predict_population(population_size=…)"),
    ('df.anon.predict_population("zip")', "population_size= is needed"),
    ('df.anon.predict_population("zip", 5)', "a population of 5", "12 records"),
    ("df.anon.find_qids(alpha=20)", "alpha must be a share", "20% is 0.2"),
    ('df.anon.find_qids(alpha="20%")', "alpha must be a share", "20% is 0.2"),
    ("df.anon.find_qids(max_size=0)", "max_size", "at least 1"),
    ('df.anon.risk("zip", sampling_fraction=10)', "sampling_fraction", "10% is 0.1"),
    ('df.anon.risk("zip", population="people.csv")', "a table is needed", "pandas.read_csv"),
    ('df.anon.kmap("zip")', "population= is needed"),
    ('df.anon.perturb("age", 1)', "needs seed=", 'df.anon.perturb("age", 2, seed=1)'),
    ('df.anon.pseudonymize("pid")', "needs key=", "df.anon.pseudonymize("),
    ('df.anon.pseudonymize("pid", key="secret")', "not a str", "Key.from_env"),
    ('df.anon.utility("zip")', "needs original=", "original=df"),
    ('df.anon.trajectory("pid", "zip")', "trajectory takes 1 argument", "(item)", "unit="),
    ('df.anon.declare(quasi_identifiers="zip")', "quasi_identifiers=", "did you mean 'quasi'"),
    ('df.anon.microaggregate("zip", k=3)', "'zip'", "numbers and dates can be"),
    ('df.anon.generalize({"zip": 2})', "a dict", "anonrisk.recode.Prefix(2)"),
    ('df.anon.generalize("zip")', "one way to generalize", "bins=, prefix="),
    ('df.anon.suppress("zip")', "k is needed"),
    ('df.anon.assess(["zip"], measures="l_div")', "measure='l_div'", "'ldiv'"),
    ("df.head(0).anon.k('zip')", "no records"),
    ("df.assign(a=[[1]] * 12).anon.k('a')", "'a'", "cannot be compared as one cell"),
    ("df.assign(a=[1, 'x'] * 6).anon.k('a')", "'a' mixes types", "convert the column"),
    ('anonrisk.k(["zip"], df)', "builtins.list", "the table comes first"),
    ('anonrisk.k("t.csv", "zip")', "a table is needed, not its location", "anonrisk.scan(path)"),
    # plans
    ('df.anon.plan(["zip"], k=0)', "k must be a whole number, at least 1"),
    ('df.anon.plan(["zip"], k=100)', "k=100", "12 records"),
    ('df.anon.plan(["zip"], k=2, max_suppressed=5)', "max_suppressed", "5% is 0.05"),
    ('df.anon.plan(["zip"], k=2, max_suppression=.1)', "write max_suppressed="),
    ('df.anon.plan(["zip"], k=2, l=2)', "no argument l=", "did you mean 'ldiv'"),
    ('df.anon.plan(["zip"], k=2, hierarchies={"age": [1]})', "'age'", "leave its hierarchy out"),
    ('df.anon.plan(["zip"], k=2, hierarchies="z.csv")', "hierarchies={'zip': …}"),
    ('df.anon.plan(["zip"], k=2, policy=Policy(quasi="zip", k=3))', "leave out qids, k, unit"),
    ('df.anon.plan(["zip"], k=2, method="mondrian")', "method=", "PlanOptions(method=…)"),
    ('df.anon.apply("plan.json")', "not a str", "anonrisk.Plan.from_json(text)"),
    ('df[["age"]].anon.apply(df.anon.plan(["zip"], k=2))', "'zip' is not a column"),
    # policies, releases, files
    ("Policy()", "no budget", "add budgets: {k: 5}"),
    ('Policy(quasi=["zip"])', "'zip' has no budget", "add budgets: {k: 5}"),
    ('Policy(quasi=["zip"], k="5")', "budgets.k", "write k: 5"),
    ('Policy(quasi=["zip"], max_unique_fraction="1%")', "write max_unique_fraction: 0.01"),
    ('Policy(quasi=["zip"], max_unique_fraction=5)', "5% is 0.05"),
    ('Policy(quasi=["zip"], max_singletons=0)', "did you mean 'max_unique_records'"),
    ('Policy(quasi_identifiers=["zip"], k=5)', "did you mean 'quasi'"),
    ('Policy(keyVars=["zip"], k=5)', "'keyVars'", "did you mean 'quasi'"),
    ('Policy(quasi=["zip"], k=5, severity="warn")', "write k: {at_least: 5, severity: warn}"),
    ('Policy(quasi=["zip"], k=5, missing="drop")', "max_dropped_fraction"),
    ('Policy.load("nowhere.yaml")', "'nowhere.yaml'", "anonrisk draft TABLE -o nowhere.yaml"),
    ('Policy.load("p.yml")', "'p.yml'", "did you mean 'p.yaml'"),
    ('Policy.load("t.csv")', "not a text", "write version: 1"),
    ('Policy.ready("research")', "'research'", "did you mean 'research_k5'"),
    ('Policy(quasi="zip", k=2).check("t.csv")', "a table is needed", "pandas.read_csv"),
    ('Release({"t": df}, "p.yaml", name="1")', "policy= takes a Policy"),
    ('anonrisk.scan("t.cvs")', "'t.cvs'", "did you mean 't.csv'"),
    ('anonrisk.sql.table("t.csv", "t")', "not the URL", "sqlite:///people.sqlite"),
]

ROLES = "version: 1\nroles:\n  quasi: [zip, age]\n  sensitive: [ill]\n"
LIMITS = "budgets:\n  k: 5\n"
POLICIES = [
    # places
    ("quasi: [zip]\nk: 5\n", "'quasi'", "quasi under roles, k under budgets", "budgets: {k: 5}"),
    ("version: 1\nroles: {quasi: [zip]}\nk: 5\n", "'k'", "k under budgets"),
    (f"{ROLES}{LIMITS}unit: pid\n", "'unit'", "unit under roles"),
    (f"{ROLES}{LIMITS}severity: warn\n", "write k: {at_least: 5, severity: warn}"),
    (f"{ROLES}{LIMITS}  severity: warn\n", "write k: {at_least: 5, severity: warn}"),
    (f"{ROLES}{LIMITS}waivers: []\n", "'waivers'", "the file of a release"),
    (f"{ROLES}{LIMITS}hierarchies: {{zip: z.csv}}\n", "'hierarchies'", "given to plan"),
    (f"{ROLES}{LIMITS}strict: true\n", "'strict'", "unlisted"),
    (f"{ROLES}limits: {{k: 5}}\n", "'limits'", "did you mean 'budgets'"),
    ("version: 1\nroles: {zip: quasi}\nbudgets: {k: 5}\n", "'zip'", "write quasi: [zip]"),
    ("version: 1\ncolumns: {zip: quasi}\nbudgets: {k: 5}\n", "did you mean 'roles'"),
    (ROLES, "'zip' has no budget", "add budgets: {k: 5}"),
    (LIMITS, "needs version: 1", "as its first line"),
    (f"version: '1'\n{LIMITS}", "version must be 1", "write version: 1"),
    # shapes
    (f"{ROLES}budgets:\n  ldiv: two\n", "budgets.ldiv", "write ldiv: 5"),
    (f"{ROLES}budgets:\n  ldiv: {{variant: entropy}}\n", "needs l", "ldiv: {l: …, variant:"),
    (f"{ROLES}budgets:\n  ldiv: {{l: 2, variant: recursive}}\n", "variant: recursive, c: 2}"),
    (f"{ROLES}budgets:\n  tcloseness: 0.2\n", "write tcloseness: {t: 0.2, distance: equal} ("),
    (f"{ROLES}budgets:\n  tcloseness: {{t: 0.2}}\n", "write tcloseness: {t: 0.2, distance: eq"),
    (f"{ROLES}budgets:\n  risk: 0.2\n", "risk: {prosecutor: {highest: 0.2}}"),
    (f"{ROLES}budgets:\n  predicted_singletons: 5\n", "{group_size: …, at_most: 5}"),
    (f"{ROLES}budgets:\n  max_fraction_below_k: {{k: 5}}\n", "{k: 5, at_most: 0.01}"),
    (f"{ROLES}budgets:\n  k:\n", "budgets.k", "write k: 5"),
    (f"{ROLES}budgets:\n  k: '5'\n", "budgets.k", "write k: 5, without quotes"),
    (f"{ROLES}budgets:\n  max_unique_fraction: 1%\n", "write max_unique_fraction: 0.01"),
    (f"{ROLES}budgets:\n  max_unique_fraction: 1e-3\n", "write max_unique_fraction: 0.001"),
    (f"{ROLES}budgets:\n  max_suppressed: 2\n", "budgets.max_suppressed", "2% is 0.02"),
    (f"{ROLES}budgets:\n  k: {{min: 5}}\n", "'min'", "did you mean 'at_least'"),
    (f"{ROLES}budgets:\n  - k: 5\n", "not a list", "write budgets: {k: 5}"),
    (f"{ROLES}budgets: k=5\n", "not a text", "write budgets: {k: 5}"),
    ("version: 1\nroles: [zip]\nbudgets: {k: 5}\n", "not a list", "write roles: {quasi:"),
    ("version: 1\nroles: {quasi: zip, age}\nbudgets: {k: 5}\n", "'age'", "quasi, sensitive"),
    (f"version: 1\nroles:\n  quasi: zip, age\n{LIMITS}", "write a list: [zip, age]"),
    (f"version: 1\nroles:\n  quasi: [no]\n{LIMITS}", "roles.quasi", "need quotes in YAML"),
    (f"version: 1\nroles:\n  unit: [pid]\n{LIMITS}", "roles.unit", "write one name"),
    (f"{ROLES}{LIMITS}qids: [zip, age]\n", "qids[0]", "qids: [{columns: [zip, age]"),
    (f"{ROLES}{LIMITS}qids: [{{columns: [zip]}}]\n", "qids[0] has no budget", "budgets: {k: 5}"),
    (f"{ROLES}{LIMITS}acknowledged: [ill]\n", "acknowledged[0]", "reason: …}]"),
    (f"{ROLES}{LIMITS}missing: ignore\n", "'ignore'", "'value', 'drop', 'error'"),
    (f"{ROLES}{LIMITS}unlisted: allow\n", "'allow'", "'refuse', 'quasi', 'ignore'"),
    ("- k: 5\n- l: 2\n", "not a list", "write version: 1"),
    # words of other tools
    (f"version: 1\nroles:\n  quasi_identifiers: [zip]\n{LIMITS}", "did you mean 'quasi'"),
    (f"version: 1\nroles:\n  keyVars: [zip]\n{LIMITS}", "'keyVars'", "did you mean 'quasi'"),
    (f"version: 1\nroles:\n  sens_att: [ill]\n{LIMITS}", "did you mean 'sensitive'"),
    (f"version: 1\nroles:\n  IDENTIFYING: [pid]\n{LIMITS}", "did you mean 'direct'"),
    (f"version: 1\nroles:\n  entities: [pid]\n{LIMITS}", "did you mean 'direct'"),
    (f"version: 1\nroles:\n  insensitive_attributes: [sex]\n{LIMITS}", "mean 'insensitive'"),
    (f"version: 1\nroles:\n  weightVar: w\n{LIMITS}", "did you mean 'weight'"),
    (f"{ROLES}budgets:\n  k_anonymity: 5\n", "'k_anonymity'", "did you mean 'k'"),
    (f"{ROLES}budgets:\n  kAnonymity: 5\n", "'kAnonymity'", "did you mean 'k'"),
    (f"{ROLES}budgets:\n  l_diversity: 2\n", "did you mean 'ldiv'"),
    (f"{ROLES}budgets:\n  entropy_l_diversity: 2\n", "write ldiv: {l: 2, variant: entropy}"),
    (f"{ROLES}budgets:\n  recursive_c_l_diversity: 2\n", "variant: recursive, c: 2}"),
    (f"{ROLES}budgets:\n  t_closeness: 0.2\n", "did you mean 'tcloseness'"),
    (f"{ROLES}budgets:\n  max_singletons: 0\n", "did you mean 'max_unique_records'"),
    (f"{ROLES}budgets:\n  uniqueness: 0.1\n", "did you mean 'max_unique_fraction'"),
    (f"{ROLES}budgets:\n  suppression_limit: 0.02\n", "did you mean 'max_suppressed'"),
    (f"{ROLES}budgets:\n  reidentification_risk: 0.1\n", "write risk: {prosecutor:"),
    (f"{ROLES}budgets:\n  delta_presence: 0.2\n", "df.anon.delta_presence measures it"),
    (f"{ROLES}budgets:\n  epsilon: 1\n", "'epsilon'", "write k: 5"),
    (f"{ROLES}budgets:\n  rr: 0.1\n", "'rr'", "risk: {prosecutor: {average: …}}"),
    # YAML
    (f"{ROLES}   unit: pid\n{LIMITS}", "line 5", "indented by 3 spaces, the line above by 2"),
    (f"{ROLES}{LIMITS} ldiv: 2\n", "line 7", "indented by 1 space, the line above by 2"),
    ("version: 1\n roles:\n  quasi: [zip]\n", "line 2", "indented by 1 space"),
    ("version: 1\nroles:\n\tquasi: [zip]\n", "line 3", "by a tab; use spaces"),
    ("version: 1\nroles:\n  quasi: [zip\nbudgets:\n  k: 5\n", "bracket that opens in line 3"),
    ("version: 1\nroles:\n  quasi: ['zip]\nbudgets:\n  k: 5\n", "quote that opens in line 3"),
    ("version: 1\nname: a: b\nbudgets: {k: 5}\n", "line 2", "a second colon", "into quotes"),
    ("version: 1\nname: @home\nbudgets: {k: 5}\n", "line 2", "into quotes"),
    (f"version: 1\nname: *{CANARY}\nbudgets: {{k: 5}}\n", "line 2", "into quotes"),
    ("version: 1\nroles\nbudgets: {k: 5}\n", "line 3", "a colon and a space"),
    ("version: 1\n---\nversion: 1\n", "line 2", "keep one in a file"),
    ("version: 1\nbudgets: {k: 5}\nbudgets: {k: 3}\n", "'budgets' is written twice", "line 3"),
]

LINES = [
    ("chekc t.csv", 2, "'chekc'", "did you mean 'check'"),
    ("find_qids t.csv", 2, "'find_qids'", "did you mean 'find-qids'"),
    ("k t.csv --qids zip", 2, "'k'", "did you mean measure"),
    ("help", 2, "'help'", "did you mean --help"),
    (
        "measure --qids zip age t.csv",
        2,
        "put the table first: anonrisk measure t.csv --qids zip age",
    ),
    (f"measure --qids zip d/zip={CANARY}/t.csv", 2, "put the table first", "d/zip=…/t.csv"),
    (f"check d/zip={CANARY}", 2, "missing: --policy", "anonrisk draft 'd/zip=…'"),
    ("plan --k 2 --qids zip t.csv", 2, "put the table first: anonrisk plan t.csv --k 2 --qids zip"),
    (
        "plan --qids zip age t.csv -o p.json",
        2,
        "put the table first: anonrisk plan t.csv --qids zip age -o p.json",
    ),
    ("plan --qids zip age -o p.json", 2, "missing: table"),
    ("measure t.csv zip age", 3, "'zip'", "write --qids before it"),
    ("measure t.csv --qids zip, age", 3, "'zip,'", "without a comma: 'zip'"),
    ("measure t.csv --qids zip,age", 2, "'zip,age'", "by spaces, as in zip age"),
    ("measure t.csv", 2, "no quasi-identifiers", "say --qids zip age"),
    ("measure t.csv --qids", 2, "--qids", "write --qids COLUMN"),
    ("measure t.csv --columns zip", 2, "--columns", "it is called --qids"),
    ("measure t.csv --qids zip --k 5", 2, "--k", "a limit stands in the policy"),
    ("measure t.cvs --qids zip", 3, "'t.cvs'", "did you mean 't.csv'"),
    ("measure t.xlsx --qids zip", 3, "t.xlsx", "save it as CSV"),
    ("measure s3://bucket/t.csv --qids zip", 3, "'s3://bucket/t.csv'", "spark_jobs/"),
    ("check t.csv", 2, "missing: --policy", "anonrisk draft t.csv -o policy.yaml"),
    ("check t.csv p.yaml", 2, "anonrisk check t.csv --policy p.yaml"),
    ("check --policy p.yaml", 2, "missing: table"),
    ("check t.csv --k 5", 2, "--k", "budgets: {k: …}"),
    ("check t.csv --policy nowhere.yaml", 2, "anonrisk draft TABLE -o nowhere.yaml"),
    ("check t.csv --policy research", 2, "'research'", "did you mean 'research_k5'"),
    ("check t.csv --policy p.yaml --qids zipp", 3, "'zipp'", "did you mean 'zip'"),
    ("check t.csv --policy p.yaml --missing ignore", 2, "'ignore'", "value, drop, error"),
    ("check t.csv --policy p.yaml --format json", 2, "'json'", "did you mean 'jsonl'"),
    ("check t.csv --policy p.yaml --dtypes age", 2, "'age'", "write for example age=number"),
    ("check t.csv --policy p.yaml --dtypes age=int", 2, "'age=int'", "age=number"),
    ("check t.csv --policy p.yaml --dtypes agee=number", 2, "'agee'", "did you mean 'age'"),
    ("check t.csv --policy p.yaml --json out.json", 2, "--json takes no value", "-o out.json"),
    ("check t.csv --policy p.yaml --html r.html", 2, "--html", "it is called --output"),
    ("check t.csv --plicy p.yaml", 2, "--plicy", "did you mean --policy"),
    ("plan t.csv --qids zip --k five", 2, "--k", "'five' is not a whole number"),
    ("plan t.csv --qids zip --k", 2, "--k", "write --k K"),
    ("plan t.csv --policy p.yaml --k 3", 2, "--k and --policy exclude each other"),
    ("plan t.csv --qids zip --max-suppressed 5", 2, "max_suppressed", "5% is 0.05"),
    ("plan t.csv --qids zip --hierarchies z.csv", 2, "'z.csv'", "write for example zip=z.csv"),
    ("plan t.csv --qids zip --hierarchies zip=z.csv", 3, "'z.csv'", "separated by ;"),
    ("plan t.csv --qids zip --loss target", 2, "--loss target --target COLUMN"),
    ("plan t.csv --qids zip --apply out.xlsx", 2, "'out.xlsx'", ".csv, .tsv, .parquet"),
    ("apply t.csv plan.json -o out.csv", 2, "'t.csv'", "put the plan first"),
    ("apply plan.json t.csv", 2, "missing: -o PATH"),
    ("draft t.csv -o t.csv", 2, "'t.csv'", "write it somewhere else"),
    ("draft t.csv -o p.yaml", 2, "'p.yaml' is there already", "--force replaces it"),
    ("find-qids t.csv --alpha 20%", 2, "'20%'", "20% is 0.2"),
    ("find-qids t.csv --alpha 20", 2, "alpha", "20% is 0.2"),
    ("predict t.csv --qids zip", 2, "say --group-size"),
    ("predict t.csv --qids zip --group-size 0", 2, "group_size", "at least 1"),
    ("predict t.csv --qids zip --group 10", 2, "--group", "did you mean --group-size"),
    ("report t.csv --policy p.yaml", 2, "missing: -o PATH", "HTML"),
    ("report t.csv --policy p.yaml -o r.pdf", 2, "'r.pdf'", "a browser prints the page as PDF"),
    ("lint t.csv p.yaml", 2, "not a text", "write version: 1"),
    ("example hospitals", 2, "'hospitals'", "did you mean 'hospital'"),
    ("release", 2, "missing: ACTION", "check"),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("t.csv", index=False)
    Path("t.xlsx").write_text(CANARY)
    Path("plan.json").write_text("{}")
    # Rows without a role would be said first.
    said = {"quasi": ["zip", "age", "sex"], "sensitive": ["ill"], "unit": "pid"}
    Path("p.yaml").write_text(Policy(**said, k=3, unlisted="ignore").to_yaml())


def told(message, words):
    assert CANARY not in message
    for word in words:
        assert word in message, message


def test_there_are_150_of_them():
    assert len(CALLS) + len(POLICIES) + len(LINES) >= 150


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("call", "words"), [(one[0], one[1:]) for one in CALLS])
def test_calls(call, words):
    names = {"df": TABLE, "anonrisk": anonrisk, "Policy": Policy, "Release": Release}
    with pytest.raises((errors.AnonRiskError, TypeError, AttributeError)) as caught:
        eval(call, names)
    told(str(caught.value), words)


@pytest.mark.parametrize(("text", "words"), [(one[0], one[1:]) for one in POLICIES])
def test_policies(text, words):
    pytest.importorskip("yaml", reason="needs the extra 'policy'")
    with pytest.raises(errors.PolicyError) as caught:
        Policy.from_yaml(text)
    told(str(caught.value), words)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("line", "code", "words"), [(one[0], one[1], one[2:]) for one in LINES])
def test_command_lines(capsys, line, code, words):
    assert main(shlex.split(line)) == code
    out, err = capsys.readouterr()
    # Of a gate the verdict tells it.
    told(err or " ".join(out.split()), words)
    # The last line is what is wrong, and no list of options stands before it.
    assert len(err.splitlines()) <= 2
