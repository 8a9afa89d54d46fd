# make run    the demo: a sample upstream with Porch before it
# make test   every test, the real binary's among them
# make check  formatting, vet, lint
# make race   the race detector over everything that can run with it
# make bench  the benchmarks beside their peers
# Each does its own set-up.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Tests and binaries of this checkout share one cache of compiled filters: compiling one takes a second,
# and ten under the race detector.
export PORCH_TEST_CACHE ?= $(CURDIR)/.cache/wasm
export PORCH_BIN         = $(CURDIR)/bin/porch

FILTERS     := $(notdir $(patsubst %/main.go,%,$(wildcard filters/*/main.go)))
DIST        := $(FILTERS:%=filters/dist/%.wasm)
GUEST_FILES := $(shell find abi guest filters -name '*.go' -not -name '*_test.go') go.mod go.sum
HOST_FILES  := $(shell find abi cmd filters host pool store -name '*.go' -not -name '*_test.go') go.mod go.sum

.PHONY: build filters run test race check fmt fuzz bench clean

build: bin/porch

filters: $(DIST)

# The same sources and toolchain give the same bytes.
filters/dist/%.wasm: $(GUEST_FILES)
	GOOS=wasip1 GOARCH=wasm $(GO) build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-w -buildid=' -o $@ ./filters/$*

bin/porch: $(HOST_FILES) $(DIST)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-X main.version=$(VERSION)' -o $@ ./cmd/porch

# The same program with the tests' seam for clocks and boots.
bin/porch-faults: $(HOST_FILES) $(DIST)
	CGO_ENABLED=0 $(GO) build -trimpath -tags faults -ldflags='-X main.version=$(VERSION)' -o $@ ./cmd/porch

run: bin/porch
	bin/porch demo

test: bin/porch
	@tools/need curl=curl
	$(GO) test -timeout 20m ./...

# Tests of the real binary and those that only count allocations gain nothing from the race detector.
RACE = $(shell $(GO) list ./... | grep -v -e /cmd/porch/acceptance)

race: filters
	@tools/need gcc=gcc
	CGO_ENABLED=1 $(GO) test -race -timeout 25m $(RACE)

check:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "run make fmt; not formatted:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	GOOS=wasip1 GOARCH=wasm $(GO) vet ./guest/... ./filters/ratelimit ./filters/idempotency ./filters/jwt ./filters/replayguard
	cd tools && $(GO) build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
	cd bench && $(GO) vet ./...

fmt:
	gofmt -w $$(git ls-files '*.go')

# Every fuzz target for FUZZTIME.
FUZZTIME ?= 10s
fuzz:
	tools/fuzz $(FUZZTIME)

bench: bin/porch
	tools/need nginx=nginx-light redis-server=redis-server wrk=wrk
	bench/run

clean:
	rm -rf bin .cache filters/dist/*.wasm
