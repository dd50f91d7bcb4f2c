package terminal

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
)

// waiting makes approvals that wait, with these numbers; the even ones were
// approved by the person already.
func waiting(numbers ...int) []*ask {
	var open []*ask
	for _, n := range numbers {
		a := &ask{number: n, ref: postRef(Thread, string(rune('a'+n))), want: approval("c", "deploy {}")}
		a.want.Approve = []string{"white_check_mark", "👍"}
		if n%2 == 0 {
			a.mine = "👍"
		}
		open = append(open, a)
	}
	return open
}

func TestParse(t *testing.T) {
	const (
		which = "Several approvals wait: 1 deploy, 2 deploy. Answer with the number, as in: "
		shut  = "Approval 7 is not open. Open: 1 deploy, 2 deploy"
	)
	tests := []struct {
		text string
		open []*ask
		want string
	}{
		{"", nil, ""},
		{" \t", waiting(1), ""},
		{" hello there ", nil, "message hello there"},
		{"y", nil, "message y"},
		{"✅", nil, "message ✅"},
		{"take back", nil, "message take back"},
		{"🛑", nil, "halt"},
		{"🛑", waiting(1, 2), "halt"},
		{"octagonal_sign", nil, "halt"},
		{"🛑 now", nil, "message 🛑 now"},
		{"y", waiting(3), "3 ✅"},
		{"YES", waiting(3), "3 ✅"},
		{"n", waiting(3), "3 ❌"},
		{"No", waiting(3), "3 ❌"},
		{"no thanks", waiting(3), "message no thanks"},
		{"y 3", waiting(3), "3 ✅"},
		{"👍🏿", waiting(3), "3 👍"},
		{":+1:", waiting(3), "3 👍"},
		{"🎉", waiting(3), "message 🎉"},
		{"y", waiting(1, 2), "say " + which + "y 1"},
		{"❌", waiting(1, 2), "say " + which + "❌ 1"},
		{"y 2", waiting(1, 2), "2 ✅"},
		{"n  1", waiting(1, 2), "1 ❌"},
		{"👎 2", waiting(1, 2), "2 👎"},
		{"n 1 too late in the day", waiting(1, 2), "1 ❌ too late in the day"},
		{"No  2  so   what", waiting(1, 2), "2 ❌ so   what"},
		{"👎 2 why", waiting(2), "2 👎 why"},
		{"n 7 too late", waiting(1, 2), "message n 7 too late"},
		{"y 1 of course", waiting(1, 2), "message y 1 of course"},
		{"no way this is right", waiting(1), "message no way this is right"},
		{"y 7", waiting(1, 2), "say " + shut},
		{"y -1", waiting(1, 2), "say Approval -1 is not open. Open: 1 deploy, 2 deploy"},
		{"y 1 2", waiting(1, 2), "message y 1 2"},
		{"y 1 2 3", waiting(1, 2), "message y 1 2 3"},
		{"take back", waiting(2), "2 👍 removed"},
		{"Take Back 2", waiting(1, 2), "2 👍 removed"},
		{"take back 1", waiting(1, 2), "say There is nothing of yours to take back on approval 1."},
		{"take back", waiting(1, 2), "say " + which + "take back 1"},
		{"take back that", waiting(1), "message take back that"},
		{"a\xffb", nil, "message a\uFFFDb"},
	}
	for _, tt := range tests {
		if got := describe(parse(tt.text, tt.open)); got != tt.want {
			t.Errorf("parse(%q, %s) = %q, want %q", tt.text, list(tt.open), got, tt.want)
		}
	}
}

// TestParseOtherEmoji: approvals need not be decided by the same emoji.
func TestParseOtherEmoji(t *testing.T) {
	open := waiting(1, 2)
	open[1].want.Approve = []string{"🚀"}
	want := "say 👍 does not decide approval 2; answer y or n (🚀 / ❌ 👎); y 2 or n 2 while several wait; n 2 and why."
	if got := describe(parse("👍 2", open)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := describe(parse("🚀 2", open)); got != "2 🚀" {
		t.Errorf("got %q", got)
	}
}

func describe(in intent) string {
	switch {
	case in.halt:
		return "halt"
	case in.say != "":
		return "say " + in.say
	case in.message != "":
		return "message " + in.message
	case in.vote != nil && in.vote.verb == "":
		return string(rune('0'+in.vote.on.number)) + " " + in.vote.emoji + " removed"
	case in.vote != nil:
		return strings.TrimSpace(string(rune('0'+in.vote.on.number)) + " " + in.vote.emoji + " " + in.vote.reason)
	}
	return ""
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"y", "n 2", "✅ 1", "take back 1", "🛑", "hello", ":+1::skin-tone-2: 1", "y 99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		open := waiting(1, 2)
		in := parse(s, open)
		if in.vote != nil && (!slices.Contains(open, in.vote.on) || len(strings.Fields(s)) > 3) {
			t.Errorf("%q votes on %v", s, in.vote)
		}
		if alone := parse(s, nil); alone.vote != nil || alone.say != "" || (alone.message == "") != (alone.halt || strings.TrimSpace(s) == "") {
			t.Errorf("%q with nothing open: %+v", s, alone)
		}
	})
}

func TestParagraph(t *testing.T) {
	tests := map[string]struct {
		lines []typed
		want  []string
		rest  string
	}{
		"a line":               {[]typed{{text: "a"}, {text: "b"}}, []string{"a", "b"}, ""},
		"a backslash goes on":  {[]typed{{text: `a\`}, {text: `b \`}, {text: "c"}}, []string{"a\nb \nc"}, ""},
		"two are typed as one": {[]typed{{text: `C:\\`}}, []string{`C:\\`}, ""},
		"a paste is whole":     {[]typed{{text: `a\`, pasted: true}, {text: "y", pasted: true}, {text: ""}}, []string{"a\\\ny\n"}, ""},
		"what is not ended":    {[]typed{{text: "a"}, {text: `b\`}}, []string{"a"}, "b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var p paragraph
			var got []string
			for _, l := range tt.lines {
				if s, done := p.add(l); done {
					got = append(got, s)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if p.open() != (tt.rest != "") || p.rest() != tt.rest {
				t.Errorf("rest is not %q", tt.rest)
			}
		})
	}
}

// TestIDs: a reference depends on thread and key, and on nothing else.
func TestIDs(t *testing.T) {
	other := chat.ThreadID{Platform: platform, Channel: channel, Root: "other"}
	refs := []chat.MessageRef{postRef(Thread, "a"), postRef(Thread, "b"), postRef(other, "a"), messageRef(newID()), messageRef(newID())}
	for i, r := range refs {
		if slices.Contains(refs[:i], r) || r.Channel != Thread.Channel || r.Platform != Thread.Platform {
			t.Errorf("%v of %v", r, refs)
		}
	}
	if postRef(Thread, "a") != refs[0] {
		t.Error("the same post got two references")
	}
}
