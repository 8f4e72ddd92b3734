"""Declaring roles: what is refused, and what it replaces."""

from __future__ import annotations

import pytest
from roles import CELLS

from anonrisk import errors


@pytest.mark.contract
def test_declaring_again_replaces(frame):
    declared = frame(CELLS).anon.declare(quasi=["zip", "age"], sensitive="diagnosis")
    again = declared.anon.declare(quasi="note")
    assert again.anon.roles().quasi == ("note",)
    assert again.anon.roles().sensitive == ()


@pytest.mark.contract
@pytest.mark.parametrize(
    ("roles", "error", "text"),
    [
        ({"quasi": "zp"}, errors.ColumnNotFoundError, "quasi-identifier 'zp' .* mean 'zip'"),
        ({"sensitive": "diagnose"}, errors.ColumnNotFoundError, "sensitive column 'diagnose'"),
        ({"direct": ["nam"]}, errors.ColumnNotFoundError, "direct identifier 'nam'"),
        ({"quasi": "zip", "unit": "wo"}, errors.ColumnNotFoundError, "unit 'wo' .* 'who'"),
        ({"quasi": ["zip", "zip"]}, errors.RepeatedColumnError, "'zip' is named twice"),
        (
            {"quasi": ["zip", "diagnosis"], "sensitive": "diagnosis"},
            errors.RoleConflictError,
            "both quasi-identifier and sensitive column",
        ),
        ({"quasi": "who", "unit": "who"}, errors.RoleConflictError, "quasi-identifier and unit"),
        ({}, errors.RolesNotGivenError, "no role given"),
        ({"quasi": []}, errors.RolesNotGivenError, "no role given"),
        ({"quasi": [["zip"]]}, errors.ArgumentError, "name of a column"),
    ],
)
def test_bad_declarations(frame, roles, error, text):
    with pytest.raises(error, match=text):
        frame(CELLS).anon.declare(**roles)


@pytest.mark.contract
def test_a_unit_may_be_a_direct_identifier(frame):
    roles = frame(CELLS).anon.declare(quasi="zip", direct="who", unit="who").anon.roles()
    assert roles.of("who") == "direct identifier, unit"


@pytest.mark.contract
@pytest.mark.kinds("spark", "connect")
def test_metadata_of_others_is_kept(frame):
    from pyspark.sql import functions as f

    table = frame(CELLS).select(f.col("zip").alias("zip", metadata={"theirs": "kept"}))
    field = table.anon.declare(quasi="zip").schema["zip"]
    assert field.metadata["theirs"] == "kept"
