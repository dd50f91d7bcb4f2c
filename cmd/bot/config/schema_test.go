package config

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("nod:///schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("nod:///schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var doc any
	if err := yaml.Load([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaTakesTheExample(t *testing.T) {
	s := compiledSchema(t)
	for name, text := range map[string]string{"as it is": exampleText(t), "in full": fullExample(t)} {
		if err := validate(t, s, text); err != nil {
			t.Errorf("the example %s does not fit the schema: %v", name, err)
		}
	}
}

func TestSchema(t *testing.T) {
	s := compiledSchema(t)
	for _, test := range []struct {
		text string
		ok   bool
	}{
		{`{}`, true},
		{`llm: {max_steps: 3, timeout: 1m30s, images: true, stream: false}`, true},
		{`llm: {max_steps: "${STEPS}", timeout: "${T}", images: "${I}", stream: "${S}", protocol: "${P}"}`, true},
		{`llm:`, true},
		{`http:`, true},
		{`memory: {idle_reset: 0, keep: 0}`, true},
		{`limits: {per_day: 5, per_thread_per_day: "$0.50"}`, true},
		{`discord: {token: x, shards: 4}`, true},
		{`tools: {calculator: {risk: ask, approvals: {quorum: 1}}}`, true},
		{`tools: {mcp: [{name: x, url: "https://x", risk: never}]}`, true},
		{`tools: {commands: [{name: x, argv: [x], parameters: {type: object, anything: 1}}]}`, true},
		{`lml: {}`, false},
		{`llm: {modell: x}`, false},
		{`llm: {protocol: numberd}`, false},
		{`llm: {timeout: 30}`, false},
		{`llm: {max_steps: many}`, false},
		{`slack: {app_token: x}`, false},
		{`limits: {per_day: 5 dollars}`, false},
		{`store: postgres://x`, false},
		{`tools: {python: {memory: 512}}`, false},
		{`tools: {commands: [{name: x}]}`, false},
		{`tools: {mcp: [{name: x, risk: {"*": sometimes}}]}`, false},
		{`tools: {clock: {zone: x}}`, false},
	} {
		if err := validate(t, s, test.text); (err == nil) != test.ok {
			t.Errorf("%s: got %v, want ok %v", test.text, err, test.ok)
		}
	}
}

// judged are files on which the schema and the program must agree, so that an
// editor neither marks what works nor lets pass what does not.
var judged = []struct {
	text string
	ok   bool
}{
	// what is written without quotes, or not at all
	{`discord: {token: x, allow_bots: [123456789012345678]}`, true},
	{`tools: {mcp: [{name: x, command: [npx, --port, 3000], headers: {}}]}`, true},
	{`tools: {mcp: [{name: x, url: "https://x.example/", headers: {X-Version: 2, Empty: }}]}`, true},
	{`tools: {commands: [{name: x, argv: [sleep, 5], stdin: 7}]}`, true},
	{"llm: {api_key: , model: , protocol: , timeout: , max_steps: , stream: , temperature: }\nstore:\nlimits: {per_day: }", true},
	{"agent: {instructions: , examples: }\nslack:\ndiscord:\nhttp:\nmemory:\napprovals: {approvers: , timeout: , quorum: }\ntools: {calculator: , commands: , mcp: , fetch: {allow: }}", false}, // tokens are missing
	{"agent: {instructions: , examples: }\nhttp:\nmemory:\napprovals: {approvers: , timeout: , quorum: }\ntools: {calculator: , commands: , mcp: , fetch: {allow: }}", true},
	{`slack: {app_token: xapp-1, bot_token: xoxb-1, allow_bots: [ ~ ]}`, false},
	{`tools: {commands: [{name: , argv: [x]}]}`, false},
	{`tools: {commands: [{name: x, argv: }]}`, false},
	{`agent: {instructions: true}`, false},

	// lengths of time
	{`llm: {timeout: .5s}`, true},
	{`llm: {timeout: 1.5m}`, true},
	{`llm: {timeout: 1h2m3s}`, true},
	{`llm: {timeout: 0}`, false},
	{`llm: {timeout: 0s}`, false},
	{`llm: {timeout: "0"}`, false},
	{`llm: {timeout: -1s}`, false},
	{`llm: {timeout: 5 s}`, false},
	{`llm: {timeout: s}`, false},
	{`memory: {keep: "0", idle_reset: 0s}`, true},
	{`approvals: {timeout: 0}`, false},
	{`tools: {python: {timeout: 0s}}`, false},
	{`tools: {commands: [{name: x, argv: [x], timeout: 0}]}`, false},
	{`tools: {mcp: [{name: x, command: [x], timeout: 0s}]}`, false},

	// numbers
	{`llm: {max_steps: 0}`, false},
	{`llm: {max_steps: 1000}`, true},
	{`llm: {max_steps: 1001}`, false},
	{`llm: {max_steps: 1.5}`, false},
	{`llm: {temperature: 0}`, true},
	{`llm: {temperature: 2.1}`, false},
	{`llm: {temperature: -1}`, false},
	{`llm: {top_p: 0}`, false},
	{`llm: {top_p: 1}`, true},
	{`llm: {prices: {input: -1, output: 1}}`, false},
	{`llm: {prices: {input: 0.5, output: 1}}`, true},
	{`llm: {prices: {input: 0.5}}`, false},
	{`llm: {prices: }`, false},
	{`llm: {parallel: -1}`, false},
	{`slack: {app_token: xapp-1, bot_token: xoxb-1, sockets: 0}`, false},
	{`slack: {app_token: xapp-1, bot_token: xoxb-1, sockets: 11}`, false},
	{`memory: {budget_tokens: 99}`, false},
	{`memory: {budget_tokens: 100}`, true},
	{`approvals: {quorum: 0}`, false},
	{`agent: {retries: -1}`, false},
	{`limits: {per_day: 0}`, false},
	{`discord: {token: x, shards: 0}`, false},

	// texts of a form
	{`llm: {model: ""}`, false},
	{`llm: {base_url: localhost}`, false},
	{`llm: {base_url: "http://localhost:1/v1"}`, true},
	{`llm: {base_url: "http://u:p@localhost/"}`, false},
	{`llm: {base_url: "http://localhost/#a"}`, false},
	{`llm: {api_key: "a b"}`, false},
	{`slack: {app_token: xoxb-1, bot_token: xoxb-1}`, false},
	{`slack: {app_token: xapp-1, bot_token: xapp-1}`, false},
	{`slack: {app_token: xapp-1, bot_token: xoxb-1, allow_bots: ["a bot"]}`, false},
	{`slack: {app_token: xapp-1, bot_token: xoxb-1, allow: [everybody]}`, false},
	{`slack: {app_token: xapp-1, bot_token: xoxb-1, allow: []}`, false},
	{`slack: {app_token: xapp-1, bot_token: xoxb-1, allow: ["user:U1", everyone]}`, true},
	{`http: {listen: "8080"}`, false},
	{`http: {listen: ":8080"}`, true},
	{`http: {page: "127.0.0.1:8081", page_texts: true}`, true},
	{`http: {page: "[::1]:8081"}`, true},
	{`http: {page: "localhost:0"}`, true},
	{`http: {page: "0.0.0.0:8081"}`, false},
	{`http: {page: ":8081"}`, false},
	{`http: {page: "example.com:8081"}`, false},
	{`http: {page: true}`, false},
	{`traces: {otlp: "https://collector.example:4318/", headers: {Authorization: "Bearer x"}, content: true}`, true},
	{`traces:`, true},
	{`traces: {otlp: "collector:4318"}`, false},
	{`approvals: {approvers: [ada]}`, false},
	{`approvals: {approvers: []}`, false},
	{`tools: {clock: {for: [everyone]}, fetch: {for: ["user:U1", "group:S1", "role:1"]}}`, true},
	{`tools: {clock: {for: []}}`, false},
	{`tools: {clock: {for: [requester]}}`, false},
	{"tools:\n  mcp:\n    - {name: a, url: 'https://a.example', for: ['channel:C1']}", false},
	{"tools:\n  mcp:\n    - {name: a, url: 'https://a.example', for: ['role:1']}", true},
	{`approvals: {approvers: [anyone, "user:U1", "group:S1", "role:1"]}`, true},
	{`approvals: {approve: [""]}`, false},
	{`approvals: {approve: ["a b"]}`, false},
	{`approvals: {approve: []}`, false},
	{`approvals: {deny: [no_entry]}`, true},
	{`tools: {wikipedia: {language: English}}`, false},
	{`tools: {wikipedia: {language: zh-yue, api_url: "https://x.example/w/api.php"}}`, true},
	{`tools: {fetch: {allow: ["*.example.com", 10.0.0.0/8, "[::1]"]}}`, true},
	{`tools: {fetch: {allow: ["a b"]}}`, false},
	{`tools: {commands: [{name: "a b", argv: [x]}]}`, false},
	{`tools: {commands: [{name: a.b, argv: [x]}]}`, false},
	{`tools: {commands: [{name: x, argv: []}]}`, false},
	{`tools: {commands: [{name: x, argv: [x], env: ["A=b"]}]}`, false},
	{`tools: {mcp: [{name: "a b", command: [x]}]}`, false},
	{`tools: {mcp: [{name: x}]}`, false},
	{`tools: {mcp: [{name: x, command: [x], url: "https://x.example/"}]}`, false},
	{`tools: {mcp: [{name: x, url: x.example}]}`, false},
	{`tools: {mcp: [{name: x, command: [x], tools: ["get_*", "a?", "[abc]d"], read_only: ["*"]}]}`, true},
	{`tools: {mcp: [{name: x, command: [x], sends: {"get_*": [url], "y": []}}]}`, true},
	{`tools: {mcp: [{name: x, command: [x], tools: ["["]}]}`, false},
	{`tools: {mcp: [{name: x, command: [x], tools: [""]}]}`, false},
	{`tools: {mcp: [{name: x, command: [x], tools: []}]}`, false},

	// stores
	{`store: "sqlite:nod.db"`, true},
	{`store: "sqlite:/var/lib/nod.db"`, true},
	{`store: "sqlite:"`, false},
	{`store: "sqlite://x"`, false},
	{`store: "sqlite:~/x"`, false},
	{`store: "sqlite:x?mode=ro"`, false},
	{`store: "redis://localhost:6379/0"`, true},
	{`store: "redis://localhost:6379"`, true},
	{`store: "rediss://u:p@h:1/2"`, true},
	{`store: "redis://h"`, false},
	{`store: "redis://h:1,i:2"`, false},
	{`store: "redis://h:1/a"`, false},
	{`store: "redis+cluster://h:1,i:2"`, true},
	{`store: "redis+cluster://h:1/3"`, false},
	{`store: "redis+sentinel://h:1,i:2/main/0"`, true},
	{`store: "redis+sentinel://h:1"`, false},
}

func TestJudgedAlike(t *testing.T) {
	s := compiledSchema(t)
	for _, test := range judged {
		_, err := load(test.text, nil)
		if (err == nil) != test.ok {
			t.Errorf("the program: %s: got %v, want ok %v", test.text, err, test.ok)
		}
		if err := validate(t, s, test.text); (err == nil) != test.ok {
			t.Errorf("the schema: %s: got %v, want ok %v", test.text, err, test.ok)
		}
	}
}
