package fakeslack

import (
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// A search sees with the eyes of the person whose message it follows, and only for a while.
func TestSearch(t *testing.T) {
	s := Start(t, Options{Scopes: []string{"app_mentions:read", "channels:history", "im:history", "search:read.public", "search:read.private"}})
	c := api(s)
	s.Say("U0ADA", "C0RANDOM", "the deploy window is at noon")
	s.Say("U0ADA", "C0SECRET", "the deploy key is blue")
	s.Say("U0ADA", "C0GENERAL", Mention+" when?")
	s.Say("U0CLEO", "C0GENERAL", Mention+" and I?")
	tokens := map[string]string{}
	for token, a := range s.actions {
		tokens[a.user] = token
	}
	find := func(token string, kinds ...string) (n int, refused string) {
		r, err := c.SearchAssistantContext(slack.AssistantSearchContextParameters{Query: "deploy rules", ActionToken: token, ChannelTypes: kinds})
		if err != nil {
			return 0, err.Error()
		}
		for _, m := range r.Results.Messages {
			if m.Permalink == "" || m.AuthorName == "" || m.ChannelName == "" || m.MessageTS == "" {
				t.Errorf("a result lacks something: %+v", m)
			}
		}
		return len(r.Results.Messages), ""
	}
	for _, tt := range []struct {
		token   string
		kinds   []string
		n       int
		refused string
	}{
		{tokens["U0ADA"], nil, 1, ""},
		{tokens["U0ADA"], []string{"public_channel", "private_channel"}, 2, ""},
		{tokens["U0CLEO"], []string{"public_channel", "private_channel"}, 1, ""},
		{tokens["U0ADA"], []string{"public_channel", "im"}, 0, "missing_scope"},
		{"12345.98765.0", nil, 0, "invalid_action_token"},
	} {
		if n, refused := find(tt.token, tt.kinds...); n != tt.n || refused != tt.refused {
			t.Errorf("%s %v: %d, %q; want %d, %q", tt.token, tt.kinds, n, refused, tt.n, tt.refused)
		}
	}
	s.Advance(actionLife + time.Second)
	if _, refused := find(tokens["U0ADA"]); refused != "invalid_action_token" {
		t.Errorf("an old token: %q", refused)
	}
}
