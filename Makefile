# headroom: the commands of the README, and the ones for working on it. `make help` lists them.

PREFIX ?= /usr/local
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GO := go
BINARY := build/headroom

.PHONY: help run test fast lint fuzz system kills planted test-guests test-kernel test-kube test-release test-arm64 image build bench attack site release install clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -e 's/:.*##/\t/' | expand -t 12

run: build ## measure a scratch directory for a minute, print the table, write the page
	@scripts/install fio
	@mkdir -p build/scratch
	$(BINARY) run quick build/scratch
	$(BINARY) report last --output build/report.html

test: ## everything that can be tested on this machine in a quarter of an hour
	@scripts/test

build: ## one static binary, build/headroom
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BINARY) ./cmd/headroom

fast: ## the tests that need no root, no network and no installed tool
	$(GO) test ./...

lint: ## what the compiler does not see
	@scripts/lint

fuzz: ## every fuzz target in turn, MINUTES in all (60)
	@scripts/fuzz $(or $(MINUTES),60)

system: ## the tests with real disks, file systems and browsers; as root
	@scripts/test system

kills: ## COUNT times (10,000): kill it with SIGKILL, restore, and check that nothing is left or lost; as root, an hour
	@scripts/kills "$(or $(COUNT),10000)" $(MINUTES)

planted: ## plant the faults of test/planted.tsv one by one, and check that tests see each of them; as root, half an hour
	@scripts/planted

test-guests: ## longer experiments in guests: emulated where KVM does not work
	@scripts/test guests

test-kernel: ## kernels built from Debian's source, which is downloaded once; half an hour and 2 GB
	@scripts/test kernel

test-kube: ## a Kubernetes cluster of one node, built from source once; as root
	@scripts/test kube

test-release: ## build a release twice, compare, and try the packages in roots of Debian and RPM; as root, some minutes
	@scripts/test release

test-arm64: ## the fast tier and a run with fio as programs for arm64, emulated on other machines; as root, an hour
	@scripts/test arm64

image: ## a container image from deploy/Containerfile, without a registry; as root
	@scripts/kube-image

bench: ## measure the figures that the docs quote, into build/figures.json; hours (scripts/bench list: what there is)
	@scripts/bench

attack: ## flood headroom serve on this machine, and print who was served; some minutes (SECONDS=30 of each flood)
	@scripts/attack "$(or $(SECONDS),30)"

site: ## the documentation as a site with search, into build/site; open build/site/index.html
	@rm -rf build/site
	$(GO) run -C tools/docs . site "$(CURDIR)" "$(CURDIR)/build/site"

release: ## VERSION=1.2.0: packages, archives, image, bills of materials, checksums, into build/release
	@scripts/release "$(VERSION)"

install: build ## copy the binary to PREFIX/bin
	install -D -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/headroom

clean: ## remove what was built
	rm -rf build
