package fakeslack

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
)

func text(s string) slack.MsgOption { return slack.MsgOptionText(s, false) }

// A post in a thread carries its metadata, which replies give back on demand;
// edits keep what the message said before.
func TestPostFindEdit(t *testing.T) {
	s := Start(t, Options{})
	c := api(s)
	root := s.Say("U0ADA", "C0GENERAL", "question")
	key := slack.SlackMetadata{EventType: "step", EventPayload: map[string]any{"key": "k1"}}
	_, ts, err := c.PostMessage("C0GENERAL", text("answer"), slack.MsgOptionTS(root), slack.MsgOptionMetadata(key))
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{true, false} {
		msgs, more, _, err := c.GetConversationReplies(&slack.GetConversationRepliesParameters{
			ChannelID: "C0GENERAL", Timestamp: root, IncludeAllMetadata: all,
		})
		if err != nil || more || len(msgs) != 2 {
			t.Fatalf("got %v, %v, %v", msgs, more, err)
		}
		if got := msgs[1].Metadata.EventPayload["key"] == "k1"; got != all {
			t.Errorf("metadata %v, asked for: %v", got, all)
		}
		if msgs[0].ReplyCount != 1 || msgs[1].ParentUserId != "U0ADA" || msgs[1].BotID != BotID {
			t.Errorf("got %+v", msgs)
		}
	}
	if _, _, _, err := c.UpdateMessage("C0GENERAL", ts, text("better answer")); err != nil {
		t.Fatal(err)
	}
	got := s.Messages("C0GENERAL", root)[1]
	if got.Text != "better answer" || len(got.Edits) != 1 || got.Edits[0].Text != "answer" || !got.Bot() {
		t.Errorf("got %+v", got)
	}
	if !bytes.Contains(got.Metadata, []byte("k1")) {
		t.Error("an update without metadata has dropped them")
	}
	erase := url.Values{"channel": {"C0GENERAL"}, "ts": {ts}, "text": {"no key"}, "metadata": {"{}"}}
	if got := send(t, s, "chat.update", erase); got != "" || len(s.Messages("C0GENERAL", root)[1].Metadata) != 0 {
		t.Errorf("metadata were not removed: %s", got)
	}
	if _, _, err := c.DeleteMessage("C0GENERAL", ts); err != nil || !s.Messages("C0GENERAL", root)[1].Deleted {
		t.Errorf("delete: %v", err)
	}
	link, err := c.GetPermalink(&slack.PermalinkParameters{Channel: "C0GENERAL", Ts: root})
	if err != nil || !strings.Contains(link, strings.ReplaceAll(root, ".", "")) {
		t.Errorf("permalink %q, %v", link, err)
	}
}

// Timestamps are microseconds and never the same, even at one instant.
func TestTimestamps(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 5000, time.UTC)
	s := Start(t, Options{Now: func() time.Time { return at }})
	a, b := s.Say("U0ADA", "C0GENERAL", "a"), s.Say("U0ADA", "C0GENERAL", "b")
	if a >= b || !strings.HasPrefix(a, "1795176000.") || len(b) != len("1795176000.000005") {
		t.Errorf("got %s and %s", a, b)
	}
}

// People's edits and deletions become events; the root of a thread leaves a
// tombstone.
func TestEditsAndDeletions(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	ts := s.Say("U0ADA", "C0GENERAL", "helo")
	s.Edit("U0ADA", "C0GENERAL", ts, Mention+" hello")
	h := b.next("message", 2).Event
	if h.Subtype != "message_changed" || h.Message.Text != Mention+" hello" || h.Message.TS != ts || h.TS == ts {
		t.Errorf("got %+v", h)
	}
	if m := b.next("app_mention", 1).Event; m.Edited == nil || m.TS != ts {
		t.Errorf("got %+v", m)
	}
	reply := s.Reply("U0BOB", "C0GENERAL", ts, "hi")
	if h := b.next("message", 3).Event; h.ThreadTS != ts || h.TS != reply {
		t.Errorf("got %+v", h)
	}
	s.Delete("U0ADA", "C0GENERAL", ts)
	if h := b.next("message", 4).Event; h.Subtype != "message_changed" || h.Message.Subtype != "tombstone" {
		t.Errorf("got %+v", h)
	}
	s.Delete("U0BOB", "C0GENERAL", reply)
	if h := b.next("message", 5).Event; h.Subtype != "message_deleted" || h.DeletedTS != reply || h.ThreadTS != ts {
		t.Errorf("got %+v", h)
	}
}

// History gives the newest first, without replies; pages neither overlap nor
// leave anything out, even when more comes in between.
func TestHistoryPages(t *testing.T) {
	s := Start(t, Options{})
	c := api(s)
	var want []string
	for range 7 {
		want = append([]string{s.Say("U0ADA", "C0GENERAL", "line")}, want...)
	}
	s.Reply("U0BOB", "C0GENERAL", want[0], "only in the thread")
	s.Write(Line{User: "U0BOB", Channel: "C0GENERAL", Thread: want[0], Text: "for all", Broadcast: true})
	p := slack.GetConversationHistoryParameters{ChannelID: "C0GENERAL", Limit: 3, Oldest: want[6]}
	var got []string
	for {
		h, err := c.GetConversationHistory(&p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range h.Messages {
			got = append(got, m.Timestamp)
		}
		if !h.HasMore {
			break
		}
		p.Cursor = h.ResponseMetaData.NextCursor
		s.Say("U0CLEO", "C0GENERAL", "meanwhile")
	}
	if d := cmp.Diff(want[:6], got[1:]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Every page of a thread begins with the root, for any span; a reply's own ts gives
// that reply alone.
func TestReplyPages(t *testing.T) {
	s := Start(t, Options{})
	c := api(s)
	root := s.Say("U0ADA", "C0GENERAL", "root")
	var replies []string
	for range 5 {
		replies = append(replies, s.Reply("U0BOB", "C0GENERAL", root, "reply"))
	}
	p := slack.GetConversationRepliesParameters{ChannelID: "C0GENERAL", Timestamp: root, Oldest: replies[0], Limit: 2}
	var got []string
	for more := true; more; {
		var msgs []slack.Message
		var err error
		if msgs, more, p.Cursor, err = c.GetConversationReplies(&p); err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs {
			got = append(got, m.Timestamp)
		}
	}
	if d := cmp.Diff([]string{root, replies[1], replies[2], root, replies[3], replies[4]}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	p = slack.GetConversationRepliesParameters{ChannelID: "C0GENERAL", Timestamp: replies[2]}
	if msgs, _, _, err := c.GetConversationReplies(&p); err != nil || len(msgs) != 1 || msgs[0].Timestamp != replies[2] {
		t.Errorf("got %v, %v", msgs, err)
	}
	p.Timestamp = "1.000001"
	_, _, _, err := c.GetConversationReplies(&p)
	wants(t, err, "thread_not_found")
}

// Slack refuses in its own words. The fake notes calls that no correct program makes.
func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 12001)
	tests := []struct {
		name, want string
		violation  bool
		call       func(*slack.Client, string) error
	}{
		{"unknown channel", "channel_not_found", false, post("C9", text("x"))},
		{"not a member", "not_in_channel", false, post("C0RANDOM", text("x"))},
		{"archived", "is_archived", false, post("C0OLD", text("x"))},
		{"a user's id is their DM", "", false, post("U0ADA", text("x"))},
		{"nothing to say", "no_text", true, post("C0GENERAL", text(""))},
		{"markdown and text", "markdown_text_conflict", true, post("C0GENERAL", text("x"), slack.MsgOptionMarkdownText("y"))},
		{"too much markdown", "msg_too_long", true, post("C0GENERAL", slack.MsgOptionMarkdownText(long))},
		{"no such thread", "invalid_thread_ts", true, post("C0GENERAL", text("x"), slack.MsgOptionTS("1.000001"))},
		{
			"metadata without type", "invalid_metadata_schema", true,
			post("C0GENERAL", text("x"), slack.MsgOptionMetadata(slack.SlackMetadata{EventPayload: map[string]any{}})),
		},
		{"update too long", "msg_too_long", true, func(c *slack.Client, ts string) error {
			_, _, _, err := c.UpdateMessage("C0GENERAL", ts, text(long[:4001]))
			return err
		}},
		{"update of nothing", "message_not_found", false, func(c *slack.Client, _ string) error {
			_, _, _, err := c.UpdateMessage("C0GENERAL", "1.000001", text("x"))
			return err
		}},
		{"delete of nothing", "message_not_found", false, func(c *slack.Client, _ string) error {
			_, _, err := c.DeleteMessage("C0GENERAL", "1.000001")
			return err
		}},
		{"whisper to a stranger", "user_not_in_channel", false, func(c *slack.Client, _ string) error {
			_, err := c.PostEphemeral("C0SECRET", "U0CLEO", text("x"))
			return err
		}},
		{"history of a stranger's channel", "not_in_channel", false, func(c *slack.Client, _ string) error {
			_, err := c.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: "C0RANDOM"})
			return err
		}},
		{"bad timestamp", "invalid_ts_oldest", true, func(c *slack.Client, _ string) error {
			_, err := c.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: "C0GENERAL", Oldest: "yesterday"})
			return err
		}},
		{"unknown user", "user_not_found", false, func(c *slack.Client, _ string) error {
			_, err := c.GetUserInfo("U9")
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Start(t, Options{Lenient: true, Scopes: AllScopes()})
			s.AddChannel(Channel{ID: "C0OLD", Name: "old", Members: []string{BotUser}, Archived: true})
			_, ts, err := api(s).PostMessage("C0GENERAL", text("mine"))
			if err != nil {
				t.Fatal(err)
			}
			wants(t, tt.call(api(s), ts), tt.want)
			if got := len(s.Violations()) > 0; got != tt.violation {
				t.Errorf("violations %q, want some: %v", s.Violations(), tt.violation)
			}
		})
	}
}

func post(channel string, o ...slack.MsgOption) func(*slack.Client, string) error {
	return func(c *slack.Client, _ string) error {
		_, _, err := c.PostMessage(channel, o...)
		return err
	}
}

// Somebody else's message is not the bot's to edit; its own closes after a
// while where the workspace says so.
func TestEditWindow(t *testing.T) {
	s := Start(t, Options{Lenient: true, EditWindow: time.Minute})
	theirs := s.Say("U0ADA", "C0GENERAL", "hello")
	_, _, _, err := api(s).UpdateMessage("C0GENERAL", theirs, text("x"))
	wants(t, err, "cant_update_message")
	_, mine, err := api(s).PostMessage("C0GENERAL", text("x"))
	wants(t, err, "")
	s.Advance(2 * time.Minute)
	_, _, _, err = api(s).UpdateMessage("C0GENERAL", mine, text("y"))
	wants(t, err, "edit_window_closed")
}

// Tokens and scopes are checked, and told.
func TestAuth(t *testing.T) {
	s := Start(t, Options{Lenient: true, Scopes: []string{"chat:write"}})
	_, err := slack.New(s.AppToken(), slack.OptionAPIURL(s.APIURL())).AuthTest()
	wants(t, err, "not_allowed_token_type")
	_, err = slack.New("xoxb-wrong", slack.OptionAPIURL(s.APIURL())).AuthTest()
	wants(t, err, "invalid_auth")
	who, err := api(s).AuthTest()
	if err != nil || who.UserID != BotUser || who.BotID != BotID || who.TeamID != Team {
		t.Errorf("got %+v, %v", who, err)
	}
	if got := who.Header.Get("X-OAuth-Scopes"); got != "chat:write" {
		t.Errorf("scopes %q", got)
	}
	err = api(s).AddReaction("eyes", slack.NewRefToMessage("C0GENERAL", "1.000001"))
	wants(t, err, "missing_scope")
	var se slack.SlackErrorResponse
	if !errors.As(err, &se) || se.Needed != "reactions:write" || se.Provided != "chat:write" {
		t.Errorf("got %#v", err)
	}
	_, err = api(s).GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: "C0SECRET"})
	if !errors.As(err, &se) || se.Needed != "groups:history" {
		t.Errorf("got %#v", err)
	}
}

// Reactions are sets per person; every change is an event.
func TestReactions(t *testing.T) {
	s := Start(t, Options{Lenient: true})
	b := connect(t, s, 1, nil)
	_, ts, err := b.PostMessage("C0GENERAL", text("approve?"))
	if err != nil {
		t.Fatal(err)
	}
	item := slack.NewRefToMessage("C0GENERAL", ts)
	wants(t, b.AddReaction("white_check_mark", item), "")
	wants(t, b.AddReaction("white_check_mark", item), "already_reacted")
	wants(t, b.AddReaction("✅", item), "invalid_name")
	s.React("U0ADA", "C0GENERAL", ts, "white_check_mark")
	s.React("U0BOB", "C0GENERAL", ts, "+1::skin-tone-2")
	s.Unreact("U0ADA", "C0GENERAL", ts, "white_check_mark")
	h := b.next("reaction_added", 3).Event
	if h.User != "U0BOB" || h.Reaction != "+1::skin-tone-2" || h.Item.TS != ts || h.ItemUser != BotUser || h.EventTS == "" {
		t.Errorf("got %+v", h)
	}
	if h := b.next("reaction_removed", 1).Event; h.User != "U0ADA" {
		t.Errorf("got %+v", h)
	}
	got, err := b.GetReactions(item, slack.GetReactionsParameters{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []slack.ItemReaction{
		{Name: "white_check_mark", Count: 1, Users: []string{BotUser}},
		{Name: "+1::skin-tone-2", Count: 1, Users: []string{"U0BOB"}},
	}
	if d := cmp.Diff(want, got.Reactions); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	wants(t, b.RemoveReaction("white_check_mark", item), "")
	wants(t, b.RemoveReaction("white_check_mark", item), "no_reaction")
	if d := cmp.Diff(map[string][]string{"+1::skin-tone-2": {"U0BOB"}}, s.Reactions("C0GENERAL", ts)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Where the whole list is not asked for, a reaction names a few people only.
func TestShortReactions(t *testing.T) {
	s := Start(t, Options{})
	ts := s.Say("U0ADA", "C0GENERAL", "who comes?")
	for _, u := range []string{"U0ADA", "U0BOB", "U0CLEO"} {
		s.React(u, "C0GENERAL", ts, "raised_hand")
	}
	c, item := api(s), slack.NewRefToMessage("C0GENERAL", ts)
	wants(t, c.AddReaction("raised_hand", item), "")
	got := must(c.GetReactions(item, slack.GetReactionsParameters{}))(t).Reactions
	if got[0].Count != 4 || len(got[0].Users) != someUsers || got[0].Users[0] != BotUser {
		t.Errorf("got %+v", got)
	}
}
