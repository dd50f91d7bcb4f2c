package slack

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/fakeslack"
)

// The workspace is searched with the eyes of who wrote: in a channel public messages only,
// in a direct conversation all that they see. The token of the event is in no message and
// no log line, and gone after a restart.
func TestSearchWithEyes(t *testing.T) {
	t.Parallel()
	var log lines
	on := func(opt *Options) {
		opt.Search, opt.Logger = true, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	o := open(t, fakeslack.Options{}, on)
	o.fake.Say("U0ADA", "C0RANDOM", "the deploy window is at noon")
	o.fake.Say("U0ADA", "C0SECRET", "the deploy key is blue")
	dm := o.fake.DM("U0ADA")
	heard := func(user, channel, text string) chat.Message {
		t.Helper()
		n := len(o.in.Messages)
		o.fake.Say(user, channel, text)
		o.in.Await(t, func() bool { return len(o.in.Messages) > n })
		return o.in.Messages[n].Message
	}
	finds := func(in string, by chat.Message, want int, fails error) {
		t.Helper()
		hits, err := o.a.Search(t.Context(), thread(in, by.Ref.ID), []chat.MessageRef{{}, by.Ref}, "deploy")
		if len(hits) != want || !errors.Is(err, fails) {
			t.Errorf("in %s: %+v, %v; want %d, %v", in, hits, err, want, fails)
		}
		for _, h := range hits {
			if !strings.HasPrefix(h.Link, "https://") || h.Author != "ada" || h.Place == "" || !strings.Contains(h.Text, "deploy") {
				t.Errorf("a hit is %+v", h)
			}
		}
	}
	asked := heard("U0ADA", general, fakeslack.Mention+" when?")
	alone := heard("U0ADA", dm, "and the key?")
	if !asked.Eyes || !alone.Eyes {
		t.Errorf("the messages are %+v and %+v", asked, alone)
	}
	finds(general, asked, 1, nil)
	finds(dm, alone, 2, nil)
	kept, _ := json.Marshal(o.in.Messages)
	for _, text := range []string{string(kept), log.String()} {
		if strings.Contains(text, "12345.98765") {
			t.Errorf("the token stands in %s", text)
		}
	}

	o.fake.Fail(fakeslack.Fault{Method: "assistant.search.context", Error: "no_consent", Times: 1})
	finds(dm, alone, 1, nil)
	o.fake.Fail(fakeslack.Fault{Method: "assistant.search.context", Error: "team_not_found", Times: 1})
	finds(general, asked, 0, chat.Refused{Platform: "Slack", Code: "team_not_found"})
	o.fake.Fail(fakeslack.Fault{Method: "assistant.search.context", Error: "invalid_action_token", Times: 1})
	finds(general, asked, 0, chat.ErrBlind)
	finds(general, asked, 0, chat.ErrBlind)

	o.stop()
	o.run(on)
	finds(dm, alone, 0, chat.ErrBlind)
	o.stop()
	o.run(nil)
	if m := heard("U0ADA", dm, "off"); m.Eyes {
		t.Error("it is off, and the message lets it search")
	}
}
