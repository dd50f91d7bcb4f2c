package main

import (
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// `make demo` compiles no client of a server that the demo does not use: that is a
// sixth of the time.
func TestDemoBuild(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(makefile), "go run -tags demo ./cmd/bot") {
		t.Error("make demo does not build the demo")
	}
	context := build.Default
	context.BuildTags = []string{"demo"}
	seen := map[string]bool{}
	var look func(pkg string)
	look = func(pkg string) {
		seen[pkg] = true
		p, err := context.ImportDir(filepath.Join("../..", strings.TrimPrefix(pkg, "nod/")), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range p.Imports {
			if strings.Contains(i, "go-redis") {
				t.Errorf("%s has %s in the demo", pkg, i)
			}
			if strings.HasPrefix(i, "nod/") && !seen[i] {
				look(i)
			}
		}
	}
	look("nod/cmd/bot")
	if len(seen) < 20 || seen["nod/memory/redis"] {
		t.Errorf("the demo is made of %d packages; with Redis: %v", len(seen), seen["nod/memory/redis"])
	}
}
