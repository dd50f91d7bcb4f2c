package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
