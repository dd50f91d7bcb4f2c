package chat_test

import (
	"encoding/json"
	"testing"

	"nod/chat"
)

// Two writings of an emoji have one normal form.
func TestNormalEmoji(t *testing.T) {
	for in, want := range map[string]string{
		"✅": "✅", ":white_check_mark:": "✅", "white_check_mark": "✅", "+1": "👍", "thumbsup": "👍", "+1::skin-tone-4": "👍", "👍🏽": "👍",
		"👏": "👏", "clap": "👏", "no_good": "🙅", "green_heart": "💚", "🙅🏽": "🙅", "flag-de": "🇩🇪",
		"✔️": "✔", "x": "❌", "octagonal_sign": "🛑", ":party-parrot:": "party-parrot", "": "",
	} {
		if got := chat.NormalEmoji(in); got != want {
			t.Errorf("NormalEmoji(%q) = %q, want %q", in, got, want)
		}
	}
	for _, e := range []string{"✅", "👍", "❌", "👎", "🛑", "👀", "🔇", "👏", "💚", "🙅", "💯", "🇩🇪", "🈁"} {
		if got := chat.NormalEmoji(chat.SlackName(e)); got != e {
			t.Errorf("%s does not survive its Slack name %q: %q", e, chat.SlackName(e), got)
		}
	}
}

// An emoji that Slack has no name for can't be told from any other there.
func TestOnSlack(t *testing.T) {
	for e, want := range map[string]bool{"👏": true, "✅": true, "party-parrot": true, "größe": true, "\U0001FADF\U0001FADF": false, "": false, "☮☮": false} {
		if got := chat.OnSlack(e); got != want {
			t.Errorf("OnSlack(%q) = %v", e, got)
		}
	}
}

// Ids survive their text form, whatever they hold.
func TestIDs(t *testing.T) {
	for _, id := range []chat.ThreadID{{Platform: "slack", Channel: "T1:C1", Root: "1.2"}, {Platform: "p", Channel: "a/b c%", Root: ""}, {Platform: "p", Channel: "", Root: "ü"}} {
		raw, err := json.Marshal(map[chat.ThreadID]int{id: 1})
		if err != nil {
			t.Fatal(err)
		}
		var back map[chat.ThreadID]int
		if err := json.Unmarshal(raw, &back); err != nil || back[id] != 1 {
			t.Errorf("%+v came back as %v, %v", id, back, err)
		}
	}
	for _, bad := range []string{"", "a", "a/b", "a/b/c/d", "/b/c", "a/%zz/c"} {
		if id, err := chat.ParseThreadID(bad); err == nil {
			t.Errorf("ParseThreadID(%q) = %v, want an error", bad, id)
		}
	}
}

func FuzzNormalEmoji(f *testing.F) {
	f.Add("+1::skin-tone-2")
	f.Fuzz(func(t *testing.T, s string) {
		once := chat.NormalEmoji(s)
		if chat.NormalEmoji(once) != once {
			t.Errorf("NormalEmoji(%q) = %q is not normal", s, once)
		}
	})
}
