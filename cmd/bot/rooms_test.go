package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"nod/cmd/bot/config"
)

// A room's rules go over those of each tool, key by key; nod's own tools stay.
func TestRoomOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nod.yaml")
	text := `
llm: {base_url: "http://127.0.0.1:1/v1"}
models: {deep: {model: d}}
slack: {app_token: xapp-1, bot_token: xoxb-1}
approvals: {approvers: [anyone]}
tools: {calculator: , clock: {risk: ask, approvals: {quorum: 2}}, chart: }
channels:
  - {in: ["slack:C1"], instructions: Mind the room., model: deep, tools: ["c[al]*"], approvals: {quorum: 3}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, config.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k, a, err := newKit(t.Context(), cfg, slog.New(slog.DiscardHandler), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.close() }()
	in := a.In("slack:C1")
	clock, ok := in.Tools.Find("clock")
	if !ok || clock.Rules.Quorum != 3 || clock.Rules.Timeout != cfg.Approvals.Timeout || in.Room.Model != "deep" {
		t.Errorf("the room: %+v, model %q", clock, in.Room.Model)
	}
	if _, ok := in.Tools.Find("chart"); ok {
		t.Error("the room has the chart")
	}
	if _, ok := in.Tools.Find("details"); !ok {
		t.Error("the room lacks a tool of nod's own")
	}
	if team, _ := a.Tools.Find("clock"); team.Rules.Quorum != 2 {
		t.Errorf("the team's rule became %+v", team.Rules)
	}
}
