"""`assay audit`: what a published pair of means can show."""

from assay.eval.cli.study_command import make_command
from assay.eval.studies.audit.study import AuditStudy

audit = make_command(AuditStudy())
