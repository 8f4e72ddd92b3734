"""Predict: what will be true of a table that does not exist yet."""

from __future__ import annotations

from anonrisk.predict.answers import Answer, JointTable
from anonrisk.predict.group_design import GroupDesign, best_group_size
from anonrisk.predict.questionnaire import Questionnaire, Step, questionnaire

__all__ = ["Answer", "GroupDesign", "JointTable", "Questionnaire", "Step", "best_group_size", "questionnaire"]
