package policy

import (
	"slices"
	"testing"

	"nod/llm"
)

// Where nobody says which parameters go outside, the names and the values of a call tell.
func TestSendingOfUndeclared(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args string
		want []string
	}{
		{`{"url":"a"}`, []string{"url"}},
		{`{"URLs":["a"]}`, []string{"URLs"}},
		{`{"imageUrl":"a","HTTPUri":"b","baseURI":"c"}`, []string{"HTTPUri", "baseURI", "imageUrl"}},
		{`{"link":"a","href":"b","host":"c","endpoint":"d","webhook_id":"e"}`, []string{"endpoint", "host", "href", "link"}},
		{`{"host-name":"a","ip_address":"b","incoming_webhooks":["c"],"server":"d"}`, []string{"host-name", "incoming_webhooks", "ip_address"}},
		{`{"link_type":"Blocks","linked":"a","ghost":"b","security":"c","curled":"d","page":2,"query":"what is it"}`, nil},
		{`{"url":3,"host":true,"link":null,"href":""}`, nil},
		{`{"page":"https://a.example/x","q":"see https://a.example/x"}`, []string{"page"}},
		{`{"page":" ftp://a.example \n","b":"//a.example/x","c":"jar:https://a.example!/x","d":"C:/x","e":"http://"}`, []string{"b", "c", "page"}},
		{`{"who":"ada@a.example","b":"Ada <ada@a.example>","c":"mailto:ada@a.example","d":"@ada","e":"ada@","f":"a@b.example, c@d.example"}`, []string{"b", "c", "f", "who"}},
		{`{"all":[{"title":"x","deep":{"href":"a"}}]}`, []string{"all"}},
		{`{"all":{"https://a.example/x":1},"none":{"title":["x"]}}`, []string{"all"}},
		{`not JSON`, nil},
	}
	for _, tt := range tests {
		if got := (Tool{Undeclared: true}).Sending(tt.args); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
		if got := (Tool{Sends: []string{"to"}}).Sending(tt.args); !slices.Equal(got, []string{"to"}) {
			t.Errorf("%s: where the file says it: %q", tt.args, got)
		}
	}
}

// A name that the parameters have carries nothing; a name that the model made up does.
func TestSentOfUndeclared(t *testing.T) {
	t.Parallel()
	tool := Tool{Tool: llm.Tool{Parameters: []byte(`{"properties":{"url":{"type":"string"}}}`)}, Undeclared: true}
	for args, want := range map[string][]string{
		`{"url":"https://a.example"}`:         {"https://a.example"},
		`{"made_up_url":"https://a.example"}`: {"made_up_url", "https://a.example"},
	} {
		name := tool.Sending(args)[0]
		if got, all := tool.Sent(args, name); !all || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", args, got, all)
		}
	}
}
