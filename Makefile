# Two commands do everything on a fresh Debian machine with Go:
#   make demo   the agent in this terminal and on a page: no account, no server, no key
#   make test   installs what the tests need, then checks and tests everything

export GOTOOLCHAIN := local
export PATH := $(CURDIR)/.deps/bin:$(PATH)
export GOFLAGS := -buildvcs=auto
TOOL := go tool -modfile=tools.mod

.PHONY: demo build release same test deps lint tidy vuln unit race long fuzz pictures bench sim mutants attack fmt clean load lines

PAGE ?= 127.0.0.1:8484

demo: ## talk to the agent in this terminal, or in the browser by the link that it prints
	@go run -tags demo ./cmd/bot chat --page $(PAGE)

build: ## bin/bot
	go build -o bin/bot ./cmd/bot

release: ## dist/: what is deployed, for linux on amd64 and arm64, stripped and the same wherever it is built
	@deploy/release.sh

same: ## builds the releases twice, the second time elsewhere and from nothing, and compares them
	@deploy/release.sh same

test: deps tidy lint vuln race ## everything that CI checks

deps: ## what the tests need beside Go: a real redis-server, Python in a sandbox, a browser, Prometheus' checker
	@want=; for p in redis-server chromium curl bwrap:bubblewrap /usr/bin/python3:python3; do \
	  command -v $${p%%:*} >/dev/null || want="$$want $${p##*:}"; done; \
	for p in numpy pandas matplotlib; do \
	  /usr/bin/python3 -I -c "from importlib.util import find_spec; 1 / (find_spec('$$p') is not None)" 2>/dev/null || want="$$want python3-$$p"; done; \
	test -z "$$want" || { \
	  SUDO=$$(test "$$(id -u)" = 0 || echo sudo); \
	  $$SUDO apt-get update -qq && $$SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$want; }
	@$(call prometheus,promtool,metrics and alerts are not checked by it)
	@test -f $(AXE)/axe.min.js || ! command -v npm >/dev/null || \
	npm install --silent --no-fund --no-audit --ignore-scripts --no-save --no-package-lock --prefix .deps axe-core@4.10.3 || \
	echo "axe-core can't be had from here: the page is not checked by it"

# prometheus takes one program, $(1), out of Debian's package of Prometheus; $(2) says what is amiss without it.
define prometheus
command -v $(1) >/dev/null || { mkdir -p .deps/bin && cd .deps && \
	{ apt-get download -qq prometheus 2>/dev/null || { apt-get update -qq && apt-get download -qq prometheus; }; } && \
	dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xO ./usr/bin/$(1) > bin/$(1).new && \
	chmod +x bin/$(1).new && mv bin/$(1).new bin/$(1); rm -f prometheus_*.deb; test -x bin/$(1); } || \
	echo "$(1) can't be had from here: $(2)"
endef

AXE := .deps/node_modules/axe-core

tidy: ## go.mod says exactly what is used
	go mod tidy -diff

lint: ## vet (govet among the linters), formatting and the linters of .golangci.yml
	go vet -tags demo ./cmd/bot
	$(TOOL) golangci-lint run --allow-parallel-runners ./...

vuln: ## known vulnerabilities, where the database can be reached
	@out=$$($(TOOL) govulncheck ./... 2>&1); code=$$?; \
	if [ $$code -ne 0 ] && echo "$$out" | grep -qE 'dial tcp|no such host|connection refused|Forbidden|timeout|lookup '; then \
	  echo "govulncheck: the vulnerability database can't be reached from here; skipped"; \
	else echo "$$out" | tail -n 20; exit $$code; fi

race: ## all tests, with the race detector, in random order
	@.ci/race

unit: ## all tests, quickly
	go test ./...

fuzz: ## every fuzz target for a short while
	@for pkg in $$(grep -rl --include=*_test.go '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]*' $$pkg/*_test.go | sed 's/^func //'); do \
	    echo "== $$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime 20s $$pkg || exit 1; \
	  done; done

pictures: ## the pictures of the README, anew from the page; look at them before you commit
	NOD_PICTURES=../../docs/pictures go test -count=1 -run '^TestPictures$$' ./cmd/bot

load: ## the whole program from outside, beside a loop that stores nothing: some minutes, on a quiet machine
	go test -count 1 -timeout 60m -run "^TestLoad(Scale)?$$" -v ./cmd/bot -args -load

bench: ## the figures of docs/performance.md
	go test -run '^$$' -bench . -benchmem -timeout 60m ./...

TURNS ?= 1000000
SEED ?= 1
sim: ## plays episodes in which everything goes wrong: see internal/sim
	@go run ./internal/sim/simulate -turns $(TURNS) -seed $(SEED)

long: fuzz bench mutants ## what takes longer than make test may: hours
	@$(call prometheus,prometheus,no real one sees the alerts fire and end)
	@cd internal/collector && go build -o ../../.deps/bin/otel-collector . || echo "OpenTelemetry's collector can't be had from here: no real one takes spans"
	@npm install --silent --no-fund --no-audit --ignore-scripts --no-save --no-package-lock --prefix .deps axe-core@4.10.3 @modelcontextprotocol/server-everything@2026.8.31 || \
	echo "server-everything can't be had from here: no real MCP server is killed beside"
	NOD_LONG=1 go test -count=1 -timeout 120m ./agent/run ./cmd/bot ./cmd/bot/meter ./internal/crash ./memory/audit ./memory/redis ./memory/transfer  # every point of the walks
	NOD_LONG=1 go test -count=1 -timeout 60m -run "^TestWork$$" ./adapters/...  # hostile texts
	@$(MAKE) --no-print-directory sim TURNS=1000000
	go test ./agent -run 'Approvals|Grants|Forbidden' -rapid.checks=100000 -timeout 60m
	go test ./agent -run 'Prompt|StablePrefix|Trim' -rapid.checks=10000 -turns=3000 -timeout 60m

ATTACKS ?= $(or $(NOD_ATTACK_DATA),$(wildcard ../shared/data/agentdojo.json))
attack: build ## the scoreboard of docs/security.md: how often an order in content from outside gets through, and how often people are asked
	@go run ./internal/attack/replay -bot bin/bot -data "$(ATTACKS)" -find "$(or $(FIND),never)"

mutants: ## takes conditions out of the engine, one at a time, and wants the simulation, or the property test of approvals, to notice each
	@go run ./internal/sim/mutate

fmt: ## format everything
	$(TOOL) golangci-lint fmt ./...

lines: ## Go lines outside of tests and internal/, by package and in all
	@git ls-files '*.go' | grep -v -e '_test\.go$$' -e '^internal/' | xargs awk '{ p = FILENAME; sub("/[^/]*$$", "", p); n[p]++ } \
	END { for (p in n) print n[p], p; print NR, "in all" }' | sort -rn

clean:
	rm -rf bin dist
