package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/memory"
	"nod/tools"
	"nod/tools/mcp"
)

// needed is what a tool's section needs where its key alone is not enough.
var needed = map[string]string{"search": `{api_url: "https://searx.example"}`}

// Every tool that the file can switch on is there once it does, has a rule, and is
// offered to the model; or the start says why it is off.
func TestEveryToolIsOffered(t *testing.T) {
	t.Parallel()
	text := "llm: {api_key: x}\ntools:\n"
	var keys []string
	for f := range reflect.TypeFor[config.Tools]().Fields() {
		if f.Type.Kind() == reflect.Pointer {
			key := f.Tag.Get("yaml")
			keys, text = append(keys, key), text+"  "+key+": "+needed[key]+"\n"
		}
	}
	file := filepath.Join(t.TempDir(), "nod.yaml")
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
	t.Cleanup(func() { _ = k.close() })
	act, ok := a.Next(agent.NewLog([]memory.Entry{
		{Seq: 1, At: time.Unix(1, 0), Body: memory.Message{Message: chat.Message{From: chat.User{ID: "ada"}, Text: "hello"}}},
		{Seq: 2, At: time.Unix(1, 0), Body: memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}},
	}, agent.Claim{})).(do.Call)
	if !ok {
		t.Fatal("the model is not asked")
	}
	for _, key := range keys {
		if slices.ContainsFunc(k.off, func(o offTool) bool { return o.name == key && o.why != "" }) {
			continue
		}
		offered := 0
		for _, tool := range act.Request.Tools {
			if tool.Name != key && !strings.HasPrefix(tool.Name, key+"_") { // wikipedia has two
				continue
			}
			offered++
			if r := k.rules[tool.Name]; r.Risk != tools.Auto && r.Risk != tools.Ask || len(r.For) == 0 || r.Approvals.Quorum == 0 {
				t.Errorf("%s: rules %+v", tool.Name, r)
			}
		}
		if offered == 0 {
			t.Errorf("tools.%s: the model is not offered it", key)
		}
	}
	if len(keys) < 8 || !slices.Contains(keys, "clock") || strings.Count(text, "\n") != len(keys)+2 {
		t.Errorf("tools: %q", keys)
	}
}

// The demo model has no endpoint that could make pictures, and so the tool is off.
func TestImageNeedsAnEndpoint(t *testing.T) {
	t.Parallel()
	cfg := config.Default(func(name string) (string, bool) { return t.TempDir(), name == "HOME" })
	cfg.SwitchOn("image")
	k, _, err := newKit(t.Context(), cfg, slog.New(slog.DiscardHandler), mcp.Briefly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.close() })
	if len(k.off) != 1 || k.off[0].name != "image" || !strings.Contains(k.off[0].why, "llm.base_url") {
		t.Errorf("off: %v", k.off)
	}
}

// An agent that is made anew for other tools has everything else as it was.
func TestRenewKeepsTheAgent(t *testing.T) {
	t.Parallel()
	cfg := config.Default(func(name string) (string, bool) { return t.TempDir(), name == "HOME" })
	p, err := assemble(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	p.kit.mcp = &mcp.Servers{}
	was := reflect.ValueOf(p.agent).Elem()
	for f, v := range was.Fields() { // as if it had been set in assemble
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 10_000)
		case reflect.String:
			v.SetString("set for " + f.Name)
		}
	}
	before := *p.agent
	if err := p.renew(); err != nil {
		t.Fatal(err)
	}
	if p.deciding.Load() != p.agent || p.agent == was.Addr().Interface() {
		t.Error("the agent was changed in its place, or others see another one")
	}
	if len(p.agent.Tools) != len(before.Tools) {
		t.Errorf("%d tools, %d before", len(p.agent.Tools), len(before.Tools))
	}
	now, old := reflect.ValueOf(*p.agent), reflect.ValueOf(before)
	for i := range now.NumField() {
		f := now.Type().Field(i)
		switch {
		case f.Name == "Tools":
		case f.Type.Kind() == reflect.Func:
			if now.Field(i).Pointer() != old.Field(i).Pointer() {
				t.Errorf("%s is another one", f.Name)
			}
		case !reflect.DeepEqual(now.Field(i).Interface(), old.Field(i).Interface()):
			t.Errorf("%s = %v, want %v", f.Name, now.Field(i), old.Field(i))
		}
	}
}
