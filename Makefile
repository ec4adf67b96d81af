# Each target is a thin call of the command line `assay` in .venv, which is made on first use.

.DEFAULT_GOAL := help
.PHONY: help setup extra eval check-config compare ablate gate targets notebooks mlflow engines-up engines-down \
	test test-slow test-all test-st test-live bench bench-scale torture docs dist sbom lock clean

BIN := .venv/bin
CONFIGS := $(sort $(filter-out gate published targets,$(basename $(notdir $(wildcard configs/*.yaml)))))
TORCH ?= torch==2.13.0
# Tests sync thousands of small files, which memory takes without a wait.
PYTEST = $(shell df -k /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8000000 { print "PYTEST_DEBUG_TEMPROOT=/dev/shm" }') \
	$(BIN)/pytest

# Where Python keeps no bytecode, each command compiles all that it imports anew: three seconds.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Pipelines: $(CONFIGS)"

setup: .venv/base.installed ## make .venv and install Assay (the other targets do it themselves)

extra: setup ## install what only some need: NAME=ragas (pyproject.toml lists the extras)
	@scripts/extra.sh "$(NAME)"

eval: check-config setup ## judge a pipeline: CONFIG=hybrid_rrf [ENGINE=name] [DATASET=name] [ARGS="key=value ..."]
	@$(BIN)/assay run configs/$(CONFIG).yaml $(if $(ENGINE),--engine $(ENGINE)) \
		$(if $(DATASET),dataset=$(DATASET)) $(ARGS)

check-config:
	@$(if $(filter $(CONFIGS),$(CONFIG)),:,\
		echo "CONFIG=$(CONFIG): not a pipeline; there are: $(CONFIGS)" >&2; exit 2)

compare: setup ## compare two pipelines or stored runs, or all pairs of more: RUNS="a b@engine c" [ENGINE="name ..."] [DATASET=name] [ARGS=...]
	@$(BIN)/assay compare $(foreach run,$(RUNS),$(if $(filter $(CONFIGS),$(run)),configs/$(run).yaml,$(run))) \
		$(foreach engine,$(ENGINE),--engine $(engine)) $(if $(DATASET),dataset=$(DATASET)) $(ARGS)

ablate: check-config setup ## find what each part of a pipeline adds: CONFIG=name [ENGINE=name] [DATASET=name] [ARGS=...]
	@$(BIN)/assay ablate configs/$(CONFIG).yaml $(if $(ENGINE),--engine $(ENGINE)) \
		$(if $(DATASET),dataset=$(DATASET)) $(ARGS)

gate: check-config setup ## judge a pipeline against its baseline: CONFIG=hybrid_rrf [ENGINE=name] [DATASET=name] [ARGS=...]
	@$(BIN)/assay gate configs/$(CONFIG).yaml $(if $(ENGINE),--engine $(ENGINE)) \
		$(if $(DATASET),dataset=$(DATASET)) $(ARGS)

LOOKUPS = $(or $(ASSAY_LOOKUPS),$(CURDIR)/.assay/lookups)

targets: setup ## measure every success criterion, with a verdict: [ARGS="SC-002 --rerun ..."]
	@$(if $(ASSAY_DATA),ASSAY_LOOKUPS=$(LOOKUPS) $(BIN)/python -m scripts.lookup_collections)
	@ASSAY_LOOKUPS=$(LOOKUPS) $(BIN)/assay targets $(ARGS)

notebooks: .venv/dev.installed ## execute the notebooks on three pipelines, and render them into reports/notebooks/
	@$(BIN)/python scripts/notebooks.py

engines-up: ## start servers in Docker and print what to export: [ENGINES="weaviate opensearch qdrant postgres mlflow"]
	@scripts/engines.sh up $(ENGINES)

engines-down: ## stop these servers; what they stored stays
	@scripts/engines.sh down

mlflow: setup ## open the MLflow UI on the stored runs
	@$(BIN)/assay mlflow $(ARGS)

test: .venv/dev.installed ## lint, check types and run all tests but those of `st`, `slow` and `long`: seven minutes on two cores
	@echo "Lint, types and tests: about seven minutes on two cores that do nothing else."
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) -n 2 --dist worksteal $(PYTEST_ARGS)

test-slow: .venv/dev.installed ## run the tests that `make test` leaves out: kills, disks, browsers, servers, wheels, simulations
	@echo "The slow tests: ten minutes and more on two cores that do nothing else."
	$(PYTEST) -n 2 --dist worksteal -m '(slow or long) and not st' $(PYTEST_ARGS)

test-all: test test-slow ## run both

test-st: .venv/st.installed ## install sentence-transformers with torch and run the tests of `st`
	$(PYTEST) -m st $$(grep -rl --include='*.py' 'mark\.st\b' tests) $(PYTEST_ARGS)

test-live: .venv/dev.installed ## run the tests of servers that WEAVIATE_URL, OPENSEARCH_URL, QDRANT_URL, MILVUS_URL, ELASTICSEARCH_URL, REDIS_URL or PHOENIX_URL names
	$(PYTEST) -m live $(PYTEST_ARGS)

bench: .venv/dev.installed ## measure latency, commands, and ratios to libraries called directly; fail where one is beyond its limit: [BENCH_ARGS="..."]
	@$(BIN)/python -m benchmarks.latency $(BENCH_ARGS); status=$$?; \
	for each in ratios scoring query_sets commands; do $(BIN)/python -m benchmarks.$$each || status=1; done; \
	exit $$status

bench-scale: setup ## measure runs by number of passages: [BENCH_ARGS="--passages 100000 1000000"]
	@$(BIN)/python -m benchmarks.scale $(BENCH_ARGS)

torture: .venv/dev.installed ## kill processes and spoil files, and write docs/reliability.md: [TORTURE_ARGS="--seed 7 ..."]
	@$(BIN)/python -m torture --write $(TORTURE_ARGS)

docs: .venv/docs.installed ## build the documentation into site/: [ARGS=serve shows it while you write]
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(or $(ARGS),build)

dist: .venv/release.installed ## build wheel and sdist into dist/ and check them: [TAG=v1.2.0]
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation
	@$(BIN)/python scripts/release.py $${TAG:+"$$TAG"}

sbom: .venv/dev.installed ## list what is installed, with licences, into dist/
	@$(BIN)/python scripts/licences.py

# jsonschema does without rfc3987-syntax, which takes each process that imports it 2 s: seven of a Ray.
lock: setup ## resolve pyproject.toml into requirements/: [LOCK_ARGS=--upgrade]
	$(COMPILE) --group build --output-file requirements/base.txt
	echo rfc3987-syntax | $(COMPILE) --group build --group dev --group docs --group release \
		$(EXTRAS:%=--extra %) --excludes /dev/stdin --constraints requirements/base.txt \
		--output-file requirements/dev.txt
	for name in docs release audit; do $(COMPILE) --group build --group $$name \
		--constraints requirements/dev.txt --output-file requirements/$$name.txt; done
	$(COMPILE) --group build --extra sql-server --constraints requirements/dev.txt \
		--output-file requirements/sql-server.txt
	echo torch | $(COMPILE) --group build --extra st --excludes /dev/stdin \
		--constraints requirements/dev.txt --output-file requirements/st.txt

# All that the tests use; torch is apart, with what needs it.
EXTRAS := anthropic azure-ai-search azure-cosmos-nosql chroma elasticsearch faiss haystack irds lancedb \
	langchain llamaindex mcp milvus mongodb neo4j notebooks openai opensearch otel pinecone postgres qdrant \
	ragas ray redis sqlite traces weaviate

COMPILE = $(BIN)/uv pip compile pyproject.toml --extra mlflow --extra documents --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --annotation-style line \
	--custom-compile-command "make lock" $(LOCK_ARGS)

clean: ## remove .venv and the tools' caches; runs, reports and models stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist site

# A stamp is written last, so that an interrupted installation is begun anew.
.venv/base.installed: requirements/base.txt pyproject.toml
	@scripts/install.sh base
	@touch $@

.venv/dev.installed: requirements/dev.txt .venv/base.installed
	@scripts/install.sh dev
	@touch $@

.venv/docs.installed .venv/release.installed: .venv/%.installed: requirements/%.txt .venv/base.installed
	@scripts/install.sh $*
	@touch $@

# Where pip knows no CPU build of torch it takes CUDA's, of 3 GB: see CONTRIBUTING.md.
.venv/st.installed: requirements/st.txt .venv/dev.installed
	@scripts/install.sh st $(TORCH)
	@touch $@
