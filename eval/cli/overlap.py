"""`assay overlap`: how much the first hits of two pipelines agree."""

from assay.eval.cli.study_command import make_command
from assay.eval.studies.overlap.study import OverlapStudy

overlap = make_command(OverlapStudy())
