package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/agent"
	"nod/agent/policy"
	"nod/cmd/bot/config"
	"nod/tools/mcp"
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
	k, a, err := newKit(t.Context(), cfg, slog.New(slog.DiscardHandler), mcp.Briefly)
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
	if got := roomLines(cfg); len(got) != 1 || got[0] != [2]string{"room slack:C1", "instructions, model deep, tools c[al]*, stricter approvals"} {
		t.Errorf("the page lists %q", got)
	}
	if team, _ := a.Tools.Find("clock"); team.Rules.Quorum != 2 {
		t.Errorf("the team's rule became %+v", team.Rules)
	}
}

// A skill that nobody accepted, or that changed, is off from the start: no prompt names it,
// and check says so. What is accepted is there, in the rooms that name it.
func TestSkillsOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nod.yaml")
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(filepath.Dir(file), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("nod.yaml", `
llm: {base_url: "http://127.0.0.1:1/v1"}
slack: {app_token: xapp-1, bot_token: xoxb-1}
skills: shelf
channels:
  - {in: ["slack:C1"], skills: [billing]}
  - {in: ["slack:C2"], skills: [], tools: []}
  - {in: ["slack:C3"], tools: []}
`)
	for _, name := range []string{"incident", "billing", "new"} {
		write("shelf/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: About "+name+".\n---\nTake a breath.\n")
	}
	open := func() (*kit, *agent.Agent) {
		t.Helper()
		cfg, err := config.Load(file, config.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		k, a, err := newKit(t.Context(), cfg, slog.New(slog.DiscardHandler), mcp.Briefly)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.close() })
		return k, a
	}
	said := func(cfg *config.Config, want string) {
		t.Helper()
		var out strings.Builder
		if err := acceptSkills(cfg, &out); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("accepting says %s, %v", out.String(), err)
		}
	}
	names := func(a *agent.Agent, channel string) string {
		a = a.In(channel)
		tool, _ := a.Tools.Find("skill")
		return policy.SkillLines(a.Skills) + string(tool.Parameters)
	}

	k, a := open()
	var out strings.Builder
	f := findings{out: &out}
	if f.skills(k.skills); f.bad != 3 || names(a, "slack:C3") != "" || !strings.Contains(out.String(), "FAIL  skill new is off: nobody has accepted it; look at new/SKILL.md") {
		t.Errorf("%d are off, %q is told of:\n%s", f.bad, names(a, ""), out.String())
	}
	cfg, _ := config.Load(file, config.LoadOptions{})
	said(cfg, "accepted  skill billing\naccepted  skill incident\naccepted  skill new\nwrote ")
	said(cfg, "wrote ")
	write("shelf/new/SKILL.md", "---\nname: new\ndescription: Evil.\n---\nTake a breath.\n")
	k, a = open()
	out.Reset()
	f = findings{out: &out}
	if f.skills(k.skills); f.bad != 1 || !strings.Contains(out.String(), "FAIL  skill new is off: its file is not the one") {
		t.Errorf("%d are off:\n%s", f.bad, out.String())
	}
	for channel, want := range map[string]string{
		"": "billing, incident", "slack:C1": "billing", "slack:C2": "", "slack:C3": "billing, incident",
	} {
		got := names(a, channel)
		for _, name := range []string{"incident", "billing", "new", "Evil"} {
			if strings.Contains(got, name) != strings.Contains(want, name) {
				t.Errorf("in %q: %q, want %s", channel, got, want)
			}
		}
		if _, there := a.In(channel).Tools.Find("skill"); there != (want != "") {
			t.Errorf("in %q: the tool is there: %v", channel, there)
		}
	}
}
