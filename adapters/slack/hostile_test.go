package slack

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"nod/internal/hostile"
)

var (
	rings = regexp.MustCompile(`<(?:!(?:channel|here|everyone)|@U0EVE|#C0EVE|!subteam\^S0EVE)`)
	leads = regexp.MustCompile(`(?i)<javascript:`)
)

// faults lists the texts of a message in which Slack would see a mention or a strange link.
func faults(v any, in string) (out []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, faults(e, in)...)
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		if url, _ := v["url"].(string); kind == "link" && hostile.Strange(url) {
			out = append(out, url)
		}
		words, isText := v["text"].(string)
		markup := isText && (kind == "mrkdwn" || kind == "")
		md := isText && kind == "markdown"
		if (markup || md) && rings.MatchString(words) || markup && leads.MatchString(words) || md && hostile.LeadsAstray(words) {
			out = append(out, words)
		}
		for _, e := range v {
			if _, isText := e.(string); !isText {
				out = append(out, faults(e, kind)...)
			}
		}
	}
	return out
}

// sentFaults lists the faults of a value as it is sent.
func sentFaults(t *rapid.T, v any) []string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var sent any
	_ = json.Unmarshal(raw, &sent) // it was just written
	return faults(sent, "")
}

// No text of a model, tool, name or page becomes a mention, or a link that is neither
// http nor mailto, in any form of any post.
func TestNothingRings(t *testing.T) {
	t.Parallel()
	th, in := thread(general, "1.000000"), everything
	in.Thread, in.Workspace = th, "https://example.slack.com/"
	rapid.Check(t, func(t *rapid.T) {
		for name, view := range goldenViews(t, func(v any) { hostile.Poison(t, v) }) {
			if bad := sentFaults(t, view); len(bad) > 0 {
				t.Errorf("%s: %q", name, bad)
			}
		}
		posts := goldenPosts()
		for _, name := range slices.Sorted(maps.Keys(posts)) {
			p := posts[name]
			hostile.Poison(t, &p)
			for _, forms := range partsOf(messageOf(th, p), in) {
				for _, f := range forms.On("") {
					if bad := sentFaults(t, map[string]any{"text": f.Text, "blocks": f.Blocks}); len(bad) > 0 {
						t.Errorf("%s: %q", name, bad)
					}
				}
			}
		}
	})
}
