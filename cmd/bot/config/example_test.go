package config

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/tools/command"
	"nod/tools/mcp"
)

// exampleEnv is the environment that the example needs, in full.
var exampleEnv = map[string]string{
	"OPENAI_API_KEY": "sk-marker-1", "SLACK_APP_TOKEN": "xapp-marker-2", "SLACK_BOT_TOKEN": "xoxb-marker-3",
	"DISCORD_TOKEN": "marker-4", "SEARCH_API_KEY": "marker-5", "GITHUB_TOKEN": "marker-6", "HOOK_SECRET": "marker-7",
}

// sameConfig compares what configurations mean, and not where it is written.
var sameConfig = cmp.Options{cmpopts.IgnoreUnexported(Config{}, mcp.Server{}, command.Keys{}), cmp.AllowUnexported(Store{})}

func exampleText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// switchedOff finds a setting behind a #; an explanation has one space there.
var switchedOff = regexp.MustCompile(`(?m)^#(  +|)(\S)`)

// fullExample is the example with everything in it switched on.
func fullExample(t *testing.T) string {
	return switchedOff.ReplaceAllString(exampleText(t), "$1$2")
}

func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, err := load(text, exampleEnv)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExampleShowsTheDefaults(t *testing.T) {
	const minimal = `
llm: {api_key: "${OPENAI_API_KEY}"}
slack: {app_token: "${SLACK_APP_TOKEN}", bot_token: "${SLACK_BOT_TOKEN}"}
tools: {calculator: , clock: }
`
	want, got := mustLoad(t, minimal), mustLoad(t, exampleText(t))
	if diff := cmp.Diff(want, got, sameConfig, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("example differs from the defaults (-default +example):\n%s", diff)
	}
}

func TestFullExampleShowsTheDefaults(t *testing.T) {
	shown := map[string]string{
		"fetch":     `{allow: [wiki.corp.example], deny: ["*.social.example"]}`,
		"wikipedia": `{api_url: "https://en.wikipedia.org/w/api.php"}`, // which tools/wikipedia makes of the language
		"search":    `{api_url: "https://searx.example.com", api_key: "${SEARCH_API_KEY}"}`,
	}
	var builtin []string
	for _, key := range tableKeys() {
		builtin = append(builtin, "  "+key+": "+shown[key])
	}
	minimal := strings.Replace(`
llm:
  api_key: ${OPENAI_API_KEY}
  temperature: 0.2
  top_p: 0.5
  prices: {input: 0.25, cached: 0.025, output: 2}
models:
  spare: {base_url: "https://llm.example.com/v1", model: provider/model-name, prices: {input: 0.3, output: 2.4}}
  deep: {model: gpt-5, for: ["group:S0123ABCD"]}
channels: [{in: ["slack:C0123ABCD"], instructions: You help whoever is on call., model: deep, tools: [restart_service, "c*"], approvals: {quorum: 2}}]
facts: {most: 50, size: 300}
schedules: {thread: 8, person: 20, least: 15m, late: 1h, timeout: 2h}
agent: {examples: [{user: Which region is staging in?, assistant: "eu-west-1, unless somebody moved it."}]}
slack: {app_token: "${SLACK_APP_TOKEN}", bot_token: "${SLACK_BOT_TOKEN}"}
discord: {token: "${DISCORD_TOKEN}"}
http: {hooks: "127.0.0.1:8082"}
alerts: [{name: pages, bot: "slack:B012ABCDEF", match: 'FIRING (?P<alert>\S+) (?P<service>\S+)', resolved: RESOLVED, same: "{alert}/{service}", approvers: ["group:S0ONCALL"]}, {name: checks, secret: "${HOOK_SECRET}", in: "slack:C012ABCDEF", approvers: ["group:S0ONCALL"]}]
traces:
limits: {raise: [{for: ["group:S012ABCDEF"], per_person_per_day: 2000000, per_thread_per_day: 1000000, until: 2026-12-31}], per_person_per_day: 200000, per_thread_per_day: 100000, per_day: "$20"}
approvals: {escalate: {after: 15m, approvers: ["group:S0ONCALL"]}}
tools:
BUILTIN
  commands:
    - name: restart_service
      name_for_human: the restart script
      description: Restart one service on staging.
      parameters:
        type: object
        properties: {service: {type: string, enum: [api, web]}}
        required: [service]
        additionalProperties: false
      argv: ["./restart.sh", "{service}"]
      approvals: {approvers: ["group:S012"], quorum: 2}
  mcp:
    - name: github
      url: https://mcp.example.com/
      headers: {Authorization: "Bearer ${GITHUB_TOKEN}"}
      read_only: ["get_*", "list_*", "search_*"]
      sends: {"get_webpage": [url]}
      risk: {"get_*": auto, "delete_*": never}
    - name: files
      command: [npx, -y, some-mcp-server]
`, "BUILTIN", strings.Join(builtin, "\n"), 1)
	want, got := mustLoad(t, minimal), mustLoad(t, fullExample(t))
	if diff := cmp.Diff(want, got, sameConfig, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("example differs from the defaults (-default +example):\n%s", diff)
	}
}

// schemaNode is the part of a JSON Schema that leads to keys.
type schemaNode struct {
	Ref        string                `json:"$ref"`
	AnyOf      []schemaNode          `json:"anyOf"`
	Properties map[string]schemaNode `json:"properties"`
	Items      *schemaNode           `json:"items"`
	Defs       map[string]schemaNode `json:"$defs"`
}

// schemaKeys lists the dotted path of every key below a node, without the
// numbers of list items.
func schemaKeys(root, n schemaNode, path string) []string {
	n = follow(root, n)
	var out []string
	for key, sub := range n.Properties {
		full := join(path, key)
		out = append(append(out, full), schemaKeys(root, sub, full)...)
	}
	if n.Items != nil {
		out = append(out, schemaKeys(root, *n.Items, path)...)
	}
	return out
}

func follow(root, n schemaNode) schemaNode {
	if len(n.AnyOf) > 0 {
		n = n.AnyOf[0]
	}
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		return root.Defs[name]
	}
	return n
}

// tableKeys lists the keys of the table of tools.
func tableKeys() (keys []string) {
	for _, t := range new(Config).table() {
		keys = append(keys, t.key)
	}
	return keys
}

// common finds the keys that every tool has: the example shows them once. It only names
// files that would have to be there.
var common = regexp.MustCompile(`^tools\.(` + strings.Join(tableKeys(), "|") + `)\.(risk|approvals|for)|^tools\.commands\.approvals\.|^channels\.((instructions_file|skills)$|approvals\.)`)

func TestExampleHasEveryKey(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root schemaNode
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	keys := schemaKeys(root, root, "")
	if len(keys) < 100 {
		t.Fatalf("schema has %d keys, want at least 100: %v", len(keys), keys)
	}
	written := map[string]bool{}
	for key := range mustLoad(t, fullExample(t)).lines {
		written[regexp.MustCompile(`\[\d+\]`).ReplaceAllString(key, "")] = true
	}
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if !written[key] && !common.MatchString(key) {
			t.Errorf("config.example.yaml does not show %s", key)
		}
	}
	for _, name := range slices.Collect(maps.Keys(exampleEnv)) {
		if !strings.Contains(exampleText(t), "${"+name+"}") {
			t.Errorf("the example does not use ${%s}", name)
		}
	}
}
