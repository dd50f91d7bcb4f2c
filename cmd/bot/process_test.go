package main

import (
	"testing"

	"nod/cmd/bot/config"
)

// SQLite's file is of one process at a time, so whoever had it before has ended.
func TestEndedByStore(t *testing.T) {
	t.Parallel()
	for kind, want := range map[config.StoreKind]bool{config.SQLite: true, config.Redis: false} {
		p := &program{cfg: &config.Config{Store: config.Store{Kind: kind}}}
		if got := p.ended("of another machine"); got != want {
			t.Errorf("with %s: %t", kind, got)
		}
	}
}
