"""Configs: YAML files to models, and from models to pipelines."""
