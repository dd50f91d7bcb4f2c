package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wanting = `store: redis://db:6379/0
llm:
  protocol: numbered
  strategy: branch
  images: true
memory: {summary: true}
http:
slack: {app_token: xapp-1, bot_token: xoxb-1}
tools:
  clock:
  search: {provider: brave, api_key: k}
  commands:
    - {name: a, argv: [a]}
    - {name: b, argv: [b], stdin: x, env: [HOME], output: file}
`

func TestUnsupported(t *testing.T) {
	build := NewBuild("store: sqlite", "llm.protocol: tools", "llm.protocol: react", "llm.strategy: react", "tools.calculator",
		"tools.commands", "tools.commands.output: text", "tools.search", "http")
	want := `nod.yaml:1: store: this build can't do "redis" yet; use sqlite
nod.yaml:3: llm.protocol: this build can't do "numbered" yet; use tools or react
nod.yaml:4: llm.strategy: this build can't do "branch" yet; use react
nod.yaml:5: llm.images: this build can't do that yet; remove it
nod.yaml:6: memory.summary: this build can't do that yet; remove it
nod.yaml:8: slack: this build can't do that yet; remove it
nod.yaml:10: tools.clock: this build can't do that yet; remove it
nod.yaml:11: tools.search.provider: this build can't do "brave" yet
nod.yaml:14: tools.commands[1].env: this build can't do that yet; remove it
nod.yaml:14: tools.commands[1].output: this build can't do "file" yet; use text
nod.yaml:14: tools.commands[1].stdin: this build can't do that yet; remove it`
	got := Mistakes(mustLoad(t, wanting).Unsupported(build)).Error()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unsupported (-want +got):\n%s", diff)
	}
}

// TestEveryWordCounts takes one word after the other from a build that can do
// everything: the full example must miss it, or not want it.
func TestEveryWordCounts(t *testing.T) {
	text := strings.NewReplacer(`stdin: ""`, "stdin: x", "env: []", "env: [HOME]", "images: auto", "images: true",
		"summary: false", "summary: true", `page: ""`, "page: 127.0.0.1:8081").Replace(fullExample(t))
	c := mustLoad(t, text)
	if got := c.Unsupported(NewBuild(Words()...)); len(got) > 0 {
		t.Errorf("a build that can do everything refuses %v", got)
	}
	unwanted := []string{
		"store: redis", "llm.protocol: react", "llm.protocol: numbered", "llm.strategy: plan", "llm.strategy: reflexion",
		"llm.strategy: branch", "tools.search.provider: brave", "tools.search.provider: tavily",
		"tools.commands.output: json", "tools.commands.output: file",
	}
	for _, word := range Words() {
		others := slices.DeleteFunc(Words(), func(w string) bool { return w == word })
		if got := c.Unsupported(NewBuild(others...)); (len(got) == 1) == slices.Contains(unwanted, word) {
			t.Errorf("without %q: got %v", word, got)
		}
	}
}

func TestNewBuildRefusesUnknownWords(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewBuild("tools.clokc")
}

func TestIncomplete(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "nod.yaml:1: llm: is missing; write a section llm with api_key, or with base_url and model\n" +
			"nod.yaml:1: slack: is missing, and so is discord; write the section of at least one of them"},
		{"memory:\nllm: {model: x}\ndiscord: {token: x}", "nod.yaml:2: llm.api_key: is missing; write it, or base_url for an endpoint that needs no key"},
		{"llm: {base_url: 'http://localhost:1234/v1'}\ndiscord: {token: x}", ""},
		{"llm: {api_key: x}\nslack: {app_token: xapp-1, bot_token: xoxb-1}", ""},
	} {
		c := mustLoad(t, test.text)
		if diff := cmp.Diff(test.want, Mistakes(c.Incomplete()).Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}
