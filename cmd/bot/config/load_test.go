package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"nod/tools"
	"nod/tools/command"
	"nod/tools/mcp"
)

var update = flag.Bool("update", false, "write the wanted output of testdata anew")

// environ is an environment of a few names.
func environ(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

// load reads a text as if it were the file nod.yaml in /etc/nod.
func load(text string, env map[string]string) (*Config, error) {
	return parse("nod.yaml", "/etc/nod", []byte(text), LoadOptions{Getenv: environ(env)})
}

// TestMistakes loads wrong files and compares the whole of what they are told.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("find testdata: %v", err)
	}
	total := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, want := archive.Files[0].Data, string(archive.Files[1].Data)
			dir := "/etc/nod"
			if len(archive.Files) > 2 {
				dir = t.TempDir()
			}
			for _, f := range archive.Files[min(2, len(archive.Files)):] {
				at := filepath.Join(dir, f.Name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, f.Data, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			_, err = parse("nod.yaml", dir, text, LoadOptions{Getenv: environ(map[string]string{"SET": "value-of-set"})})
			var mistakes Mistakes
			if !errors.As(err, &mistakes) {
				t.Fatalf("got %v, want Mistakes", err)
			}
			total += len(mistakes)
			got := err.Error() + "\n"
			for _, secret := range []string{"secret", "sk-", "ret@", "value-of-set"} {
				if strings.Contains(strings.ReplaceAll(got, "own secrets", ""), secret) {
					t.Errorf("a message shows a value:\n%s", got)
				}
			}
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
	if total < 100 {
		t.Errorf("testdata has %d mistakes, want at least 100", total)
	}
}

func TestEmptyFileIsTheDefaults(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "{}", "llm:\ntools:\nlimits:\n", "~"} {
		got, err := load(text, nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want := defaults()
		want.resolve("/etc/nod")
		if diff := cmp.Diff(want, got, sameConfig); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"STEPS": "7", "ON": "false", "MODEL": "12345", "EMPTY": "", "NULL": "null", "YAML": "a: [b", "DAY": "$5", "X": "x"}
	c, err := load(`
llm:
  max_steps: ${STEPS}
  stream: "${ON}"
  model: ${MODEL}
  temperature: 0.${STEPS}
  top_p: ${EMPTY}
  api_key: ${NULL}
  prices: {input: 1, output: 2}
agent:
  instructions: "${YAML} $X $$ $${X} ${X}${X} 100%{X} {X}"
  examples: &e [{user: "${X}", assistant: "${STEPS}"}]
limits: {per_day: "${DAY}", per_thread_per_day: $3}
tools:
  commands:
    - name: x
      argv: [x, "${MODEL}"]
      parameters:
        type: object
        properties:
          a:
            const: "${STEPS}"
            default: ${STEPS}
`, env)
	if err != nil {
		t.Fatal(err)
	}
	temperature := 0.7
	for name, pair := range map[string][2]any{
		"max_steps": {c.LLM.MaxSteps, 7}, "stream": {c.LLM.Stream, false}, "model": {c.LLM.Model, "12345"},
		"temperature": {c.LLM.Temperature, &temperature}, "top_p": {c.LLM.TopP, (*float64)(nil)},
		"api_key":      {c.LLM.APIKey.Reveal(), "null"},
		"instructions": {c.Agent.Instructions, "a: [b $X $$ ${X} xx 100%{X} {X}"},
		"examples":     {c.Agent.Examples, []Example{{"x", "7"}}},
		"limits":       {c.Limits, Limits{PerDay: Amount{Money: 5}, PerThreadPerDay: Amount{Money: 3}}},
		"argv":         {c.Tools.Commands[0].Argv, []string{"x", "12345"}},
		"parameters":   {string(c.Tools.Commands[0].Parameters), `{"type":"object","properties":{"a":{"const":"7","default":7}}}`},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A value may be the content of a file beside the configuration.
func TestValuesFromFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"key": "sk-of-a-file\n", "windows": "x\r\n", "two": "a\n\n", "bare": "${SET} ${file:key}",
		"steps": "7", "nothing": "\n", "large": strings.Repeat("x", 64<<10) + "\n\n", "full": strings.Repeat("x", 64<<10) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed := func(o LoadOptions, text string) (*Config, error) {
		o.Getenv = environ(nil)
		return parse("nod.yaml", dir, []byte(text), o)
	}
	text := "llm: {api_key: '${file:key}', max_steps: '${file:steps}'}\nagent: {instructions: '${file:" + dir + "/windows}|${file:two}|${file:bare}'}"
	c, err := parsed(LoadOptions{}, text)
	if err != nil {
		t.Fatal(err)
	}
	if c.LLM.APIKey.Reveal() != "sk-of-a-file" || c.LLM.MaxSteps != 7 || c.Agent.Instructions != "x|a\n|${SET} ${file:key}" {
		t.Errorf("the values are %q, %d and %q", c.LLM.APIKey.Reveal(), c.LLM.MaxSteps, c.Agent.Instructions)
	}
	if !slices.Contains(c.Secrets(), "${SET} ${file:key}") {
		t.Errorf("what a file holds is no secret: %q", c.Secrets())
	}
	wrong := "llm:\n  api_key: ${file:none}\n  model: ${file:large}\n  base_url: ${file:nothing}\n  max_steps: ${file:.}\nagent: {timezone: '${file:}'}"
	_, err = parsed(LoadOptions{}, wrong)
	want := `nod.yaml:2: llm.api_key: ${file:none} can't be read: no such file or directory; write the path of a file, which is relative to this one
nod.yaml:3: llm.model: ${file:large} is larger than 64 KiB; write the path of another file
nod.yaml:4: llm.base_url: ${file:nothing} is empty; write the value into the file
nod.yaml:5: llm.max_steps: ${file:.} is not a file; write the path of one, which is relative to this file
nod.yaml:6: agent.timezone: has a ${ that is not ${NAME} or ${file:PATH}; write that, or $${ for a ${ that stays`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := parsed(LoadOptions{Lenient: true}, strings.Replace(wrong, "agent: {timezone: '${file:}'}", "", 1)); err != nil {
		t.Errorf("without a need for secrets: %v", err)
	}
	if _, err := parsed(LoadOptions{}, "llm: {model: '${file:full}'}"); err != nil {
		t.Errorf("a file of 64 KiB: %v", err)
	}
}

// A running program takes some secrets and the level of the log. Where anything else has
// changed it takes nothing.
func TestTake(t *testing.T) {
	const before = `llm:
  api_key: one
  prices: {input: 1, output: 2}
log: {level: info}
slack:
  app_token: xapp-1
  bot_token: xoxb-1
  limits: {chat.update: 100}
approvals: {quorum: 1, approvers: ["user:U1", anyone]}
limits: {per_day: 1000}
store: redis://u:p@h:1/0
tools:
  clock:
  commands: [{name: x, argv: [x], parameters: {type: object}}]
  mcp:
    - {name: a, url: "http://a", headers: {A: one, B: one}}
`
	tests := []struct{ old, now, want string }{
		{"A: one, B: one", "B: two, A: three", ""},
		{"level: info", "level: debug", ""},
		{"api_key: one", "api_key: two # of the provider", ""},
		{"  api_key: one\n", "", "nod.yaml:1: llm.api_key"},
		{"A: one, B", "A: one, C", "nod.yaml:16: tools.mcp[0].headers"},
		{"B: one}", "B: one, C: one}", "nod.yaml:16: tools.mcp[0].headers"},
		{"u:p@", "u:q@", "nod.yaml:11: store"},
		{"xoxb-1", "xoxb-2", "nod.yaml:7: slack.bot_token"},
		{"quorum: 1", "quorum: 2", "nod.yaml:9: approvals.quorum"},
		{"anyone]", "anyone, requester]", "nod.yaml:9: approvals.approvers"},
		{"per_day: 1000", `per_day: "$5"`, "nod.yaml:10: limits.per_day"},
		{"chat.update: 100", "chat.update: 99", "nod.yaml:8: slack.limits.(key)"},
		{"type: object", "type: object, properties: {}", "nod.yaml:14: tools.commands[0].parameters"},
		{"  clock:\n", "", "nod.yaml:12: tools.clock"},
		{"api_key: one", "api_key: two\n  max_steps: 3", "nod.yaml:3: llm.max_steps"},
	}
	for _, tt := range tests {
		t.Run(tt.now, func(t *testing.T) {
			c, next := mustLoad(t, before), mustLoad(t, strings.Replace(before, tt.old, tt.now, 1))
			err := c.Take(next)
			if tt.want == "" && (err != nil || !slices.Equal(slices.Sorted(slices.Values(c.Secrets())), slices.Sorted(slices.Values(next.Secrets()))) || c.Log != next.Log) {
				t.Errorf("not taken: %v", err)
			}
			if tt.want != "" && (err == nil || err.Error() != tt.want+": has changed, which needs a restart" || c.LLM.APIKey.Reveal() != "one") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// Take compares exported fields, so no type of the file may hide its value in others. The page
// for operators names each key that is taken.
func TestTakeSeesAll(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, taken, _ := strings.Cut(string(page), "It takes `llm.api_key`")
	taken, _, _ = strings.Cut("`llm.api_key`"+taken, ";")
	seen := map[reflect.Type]bool{typeSecret: true}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		if seen[of] {
			return
		}
		seen[of] = true
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(of.Elem())
		case reflect.Struct:
			known := fieldsOf(of)
			for _, f := range known.fields {
				if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); f.Tag.Get("reload") != "" && !strings.Contains(taken, key+"`") {
					t.Errorf("docs/operate.md does not say that %s is taken", key)
				}
				walk(f.Type)
			}
			if len(known.fields) == 0 && of != typeStore && of != reflect.TypeFor[Amount]() && !strings.HasSuffix(of.Name(), "Keys") {
				t.Errorf("%v has no keys; is it compared?", of)
			}
		default:
			if !of.Comparable() {
				t.Errorf("%v can't be compared", of)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
}

func TestLenientNeedsNoEnvironment(t *testing.T) {
	o := LoadOptions{Lenient: true, Getenv: environ(nil)}
	c, err := parse("nod.yaml", "/etc/nod", []byte(fullExample(t)), o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Slack == nil || c.Discord == nil || c.Slack.BotToken.IsSet() || !c.Written("slack.bot_token") {
		t.Errorf("the platforms are %+v and %+v", c.Slack, c.Discord)
	}
	c, err = parse("nod.yaml", "/", []byte("store: ${S}\nllm: {max_steps: '${N}', timeout: '${T}', base_url: '${U}', protocol: '${P}'}\n"+
		"approvals: {approvers: ['${A}'], quorum: 2, approve: ['${E}']}\n"+
		"tools: {commands: [{name: '${C}', argv: ['${C}'], parameters: {type: '${O}'}}], mcp: [{name: x, url: '${U}'}]}"), o)
	if err != nil {
		t.Fatal(err)
	}
	if c.LLM.MaxSteps != 12 || c.Store.String() != "sqlite:/nod.db" {
		t.Errorf("values that are not set are not the defaults: %+v", c)
	}
	if _, err = parse("nod.yaml", "/", []byte("llm: {model: '${M}', api_kye: '${K}', protocol: x, timeout: '${'}"), o); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three mistakes", err)
	}
}

func TestToolApprovalsGoOverTheSection(t *testing.T) {
	c := mustLoad(t, `
tools:
  clock: {approvals: {quorum: 2}}
  chart:
  commands:
    - {name: x, argv: [./x, ./y], cwd: sub, approvals: {approve: [":+1::skin-tone-2", "👍🏽", rocket]}}
    - {name: y, argv: [sh]}
approvals: {timeout: 1h, approvers: ["group:S1", "user:U1"], approve: ["white_check_mark"]}
`)
	section := Approvals{Timeout: time.Hour, Approvers: []string{"group:S1", "user:U1"}, Quorum: 1, ExcludeRequester: ExcludeNobody, Approve: []string{"✅"}, Deny: []string{"❌", "👎"}, Buttons: true, By: []Way{"reaction", "button", "word"}, Factor: "none", FactorKey: "/etc/nod/nod.factor", Notify: []string{"mention"}, RunWithin: 24 * time.Hour}
	clock, x := section, section
	clock.Quorum = 2
	x.Approve = []string{"👍", "🚀"}
	for name, pair := range map[string][2]Approvals{
		"section": {section, c.Approvals}, "clock": {clock, c.Tools.Clock.Approvals}, "chart": {section, c.Tools.Chart.Approvals},
		"x": {x, c.Tools.Commands[0].Approvals}, "y": {section, c.Tools.Commands[1].Approvals},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"/etc/nod/x", "./y", "/etc/nod/sub", "sh", "/etc/nod"},
		append(append([]string{}, c.Tools.Commands[0].Argv...), c.Tools.Commands[0].Cwd, c.Tools.Commands[1].Argv[0], c.Tools.Commands[1].Cwd)); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if got := c.Tools.Clock.Approvals.Rules(); got.Quorum != 2 || got.Timeout != time.Hour || len(got.Approvers) != 2 {
		t.Errorf("rules are %+v", got)
	}
}

// The same file in another folder makes the same tools: what is bound to them holds.
func TestTheSameFileElsewhere(t *testing.T) {
	definitions := func(dir, program string) (out []string) {
		c, err := parse("nod.yaml", dir, []byte("tools: {commands: [{name: x, argv: ["+program+", ./y], cwd: sub, preview: [./z]}, {name: y, argv: [sh, ./y]}]}"), LoadOptions{Getenv: environ(exampleEnv)})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range c.Tools.Commands {
			out = append(out, command.New(k.Keys).Definition)
		}
		return out
	}
	here := definitions("/etc/nod", "./x")
	if there := definitions("/srv/nod/2", "./x"); !slices.Equal(here, there) {
		t.Errorf("%s\nand elsewhere\n%s", here, there)
	}
	if other := definitions("/etc/nod", "/etc/nod/x"); other[0] == here[0] {
		t.Errorf("another file makes the same tool: %s", other)
	}
}

func TestNormalForms(t *testing.T) {
	c := mustLoad(t, `
llm: {base_url: "http://localhost:11434/v1/", images: false}
slack: {app_token: xapp-1, bot_token: xoxb-1, api_url: "http://127.0.0.1:9/api", allow_bots: [B1]}
discord: {token: x, allow_bots: [123456789012345678], api_url: "http://127.0.0.1:9/api/", shards: 3}
tools:
  wikipedia: {language: de}
  search: {provider: tavily, api_key: x}
  mcp: [{name: a, command: [./server, ./x], risk: never}, {name: b, url: "http://x"}]
  commands:
    - name: big
      argv: [x]
      parameters: {type: object, properties: {z: {maximum: 123456789012345678901234567890}, a: {default: "<&>"}}, required: []}
`)
	for name, pair := range map[string][2]any{
		"base_url": {c.LLM.BaseURL, "http://localhost:11434/v1"}, "images": {c.LLM.Images, ImagesNo},
		"slack": {c.Slack.APIURL, "http://127.0.0.1:9/api/"}, "discord": {c.Discord.APIURL, "http://127.0.0.1:9/api"},
		"bots": {append(c.Slack.AllowBots, c.Discord.AllowBots...), []string{"B1", "123456789012345678"}}, "shards": {c.Discord.Shards, Shards(3)},
		"server": {c.Tools.MCP[0].Command, []string{"/etc/nod/server", "./x"}},
		"risk":   {c.Tools.MCP[0].Risk, mcp.Risks{"*": tools.Never}}, "other risk": {c.Tools.MCP[1].Risk, mcp.Risks{"*": tools.Ask}},
		"parameters": {
			string(c.Tools.Commands[0].Parameters),
			`{"type":"object","properties":{"z":{"maximum":123456789012345678901234567890},"a":{"default":"<&>"}},"required":[]}`,
		},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDefaultRisks(t *testing.T) {
	c := mustLoad(t, `
tools:
  calculator:
  clock:
  wikipedia:
  fetch:
  search: {api_url: "https://x.example"}
  python:
  chart:
  image:
  commands: [{name: x, argv: [x]}]
`)
	want := map[string]tools.Risk{"tools.image": tools.Ask, "tools.commands[0]": tools.Ask}
	for _, name := range []string{"calculator", "clock", "wikipedia", "fetch", "search", "python", "chart"} {
		want["tools."+name] = tools.Auto
	}
	got := map[string]tools.Risk{}
	for _, r := range c.toolRules() {
		got[r.key] = r.part.Risk
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("risks (-want +got):\n%s", diff)
	}
}

// TestSchemaReferencesAreNotFollowed refers to a file that could be read.
func TestSchemaReferencesAreNotFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"file://" + path, "https://x.example/x.json", "x.json"} {
		_, problem := parameters([]byte(`{"type":"object","properties":{"a":{"$ref":"` + ref + `"}}}`))
		if !strings.HasPrefix(problem, "has a $ref out of the schema") {
			t.Errorf("%s: got %q", ref, problem)
		}
	}
	if names, problem := parameters([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}`)); problem != "" || len(names) != 1 {
		t.Errorf("a reference inside of the schema: got %v, %q", names, problem)
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "nod.yaml")
	if err := os.WriteFile(path, []byte("store: sqlite:x.db"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, LoadOptions{})
	if err != nil || c.Store.Path != filepath.Join(dir, "x.db") || c.File() != path {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := Load(filepath.Join(dir, "none.yaml"), LoadOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("# \n"), maxFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, LoadOptions{}); err == nil {
		t.Error("a file of megabytes is read")
	}
}

func TestDefault(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"sqlite:/state/nod/nod.db":                 {"XDG_STATE_HOME": "/state", "HOME": "/home/ada"},
		"sqlite:/home/ada/.local/state/nod/nod.db": {"XDG_STATE_HOME": "relative", "HOME": "/home/ada"},
		"sqlite:nod.db":                            {},
	} {
		c := Default(environ(env))
		if c.Store.String() != want || c.Store.Path != strings.TrimPrefix(want, "sqlite:") {
			t.Errorf("got %s, want %s", c.Store, want)
		}
		if c.Tools.Calculator == nil || c.Tools.Clock == nil || !c.Offline() || c.Tools.Clock.Risk != tools.Auto || c.Tools.Clock.Approvals.Quorum != 1 {
			t.Errorf("the configuration without a file is %+v", c)
		}
	}
}

// FuzzLoad reads any text: it must not panic or hang, a file is either right or
// has mistakes, and no message shows what the environment holds.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "config.example.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(switchedOff.ReplaceAllString(string(example), "$1$2"))
	f.Fuzz(func(t *testing.T, text string) {
		const hidden = "q7Zk-hidden-0"
		o := LoadOptions{Getenv: func(string) (string, bool) { return hidden, true }}
		c, err := parse("nod.yaml", "/etc/nod", []byte(text), o)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil {
			if strings.Contains(err.Error(), hidden) && !strings.Contains(text, hidden) {
				t.Errorf("a message shows the environment: %v", err)
			}
			return
		}
		c.Incomplete()
		o.Lenient = true
		if _, err := parse("nod.yaml", "/etc/nod", []byte(text), o); err != nil {
			t.Errorf("right, but not when it may be lenient: %v", err)
		}
	})
}

// TestModelsInherit has further models. One with another address has a key and prices of its
// own, or none.
func TestModelsInherit(t *testing.T) {
	c, err := load(`
llm: {api_key: a, model: one, timeout: 7s, prices: {input: 1, output: 2}, fallback: [spare]}
models:
  spare: {base_url: "http://127.0.0.1:1/v1/", model: two}
  deep: {model: three, protocol: react, api_key: b}
  plain:
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for key, e := range c.Endpoints() {
		got[key] = fmt.Sprintf("%s %q %s %s %s %v %v", e.BaseURL, e.APIKey.Reveal(), e.Model, e.Protocol, e.Timeout, e.Prices != nil, e.Fallback)
	}
	want := map[string]string{
		"llm":          `https://api.openai.com/v1 "a" one tools 7s true [spare]`,
		"models.spare": `http://127.0.0.1:1/v1 "" two tools 7s false []`,
		"models.deep":  `https://api.openai.com/v1 "b" three react 7s true []`,
		"models.plain": `https://api.openai.com/v1 "a" one tools 7s true []`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// TestRoom has a room's tools, and its instructions in a file.
func TestRoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.md")
	if err := os.WriteFile(file, []byte("Mind the room."), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `
slack: {app_token: xapp-1, bot_token: xoxb-1}
tools: {calculator: , clock: , chart: }
channels:
  - {in: ["slack:C1"], instructions_file: FILE, tools: ["c[al]*", clock]}
  - {in: ["slack:C2"], tools: []}
  - {in: ["slack:C3"]}
`
	c, err := load(strings.Replace(text, "FILE", file, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	has := map[int]string{}
	for i, r := range c.Rooms {
		for _, tool := range []string{"calculator", "clock", "chart"} {
			if r.Has(tool) {
				has[i] += tool + " "
			}
		}
	}
	if diff := cmp.Diff(map[int]string{0: "calculator clock ", 2: "calculator clock chart "}, has); diff != "" || c.Rooms[0].Instructions != "Mind the room." {
		t.Errorf("instructions %q, tools (-want +got):\n%s", c.Rooms[0].Instructions, diff)
	}
	if _, err := load(strings.Replace(text, "FILE", file+"x", 1), nil); err == nil || !strings.Contains(err.Error(), "nod.yaml:5: channels[0].instructions_file: can't be read") {
		t.Errorf("a file that is not there: %v", err)
	}
}
