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
