package fakeslack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// Users have a time zone, groups have members, channels too.
func TestDirectory(t *testing.T) {
	s := Start(t, Options{Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }})
	c := api(s)
	u := must(c.GetUserInfo("U0BOB"))(t)
	if u.Name != "bob" || u.TZ != "America/New_York" || u.TZOffset != -5*3600 || u.IsBot || u.Profile.DisplayName != "bob" {
		t.Errorf("got %+v", u)
	}
	all := must(c.GetUsers(slack.GetUsersOptionLimit(2)))(t)
	if len(all) != 4 {
		t.Errorf("%d users", len(all))
	}
	if got := must(c.GetUserGroupMembers("S0OPS"))(t); !cmp.Equal(got, []string{"U0BOB", "U0CLEO"}) {
		t.Errorf("got %v", got)
	}
	_, err := c.GetUserGroupMembers("S9")
	wants(t, err, "no_such_subteam")
	s.SetGroup(Group{ID: "S0OPS", Handle: "ops", Users: []string{"U0ADA"}})
	groups := must(c.GetUserGroups(slack.GetUserGroupsOptionIncludeUsers(true)))(t)
	if len(groups) != 1 || groups[0].Handle != "ops" || !cmp.Equal(groups[0].Users, []string{"U0ADA"}) {
		t.Errorf("got %+v", groups)
	}
	members, next, err := c.GetUsersInConversation(&slack.GetUsersInConversationParameters{ChannelID: "C0SECRET", Limit: 2})
	if err != nil || next == "" || !cmp.Equal(members, []string{BotUser, "U0ADA"}) {
		t.Errorf("got %v, %q, %v", members, next, err)
	}
	ch := must(c.GetConversationInfo(&slack.GetConversationInfoInput{ChannelID: "C0SECRET"}))(t)
	if !ch.IsPrivate || !ch.IsMember || ch.Name != "secret" {
		t.Errorf("got %+v", ch)
	}
	s.DM("U0ADA")
	mine, _, err := c.GetConversationsForUser(&slack.GetConversationsForUserParameters{Types: []string{"public_channel", "im"}})
	if err != nil || len(mine) != 2 || mine[1].User != "U0ADA" {
		t.Errorf("got %+v, %v", mine, err)
	}
	bot := must(c.GetBotInfo(slack.GetBotInfoParameters{Bot: BotID}))(t)
	if bot.UserID != BotUser || bot.AppID != App {
		t.Errorf("got %+v", bot)
	}
}

// People come and go; other bots and webhooks write too.
func TestOthers(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	s.AddUser(User{ID: "U0ALERT", Name: "alert", Bot: true})
	s.Join("U0ALERT", "C0SECRET")
	s.Say("U0ALERT", "C0SECRET", "disk full")
	ts := s.Write(Line{Bot: "B0HOOK", Username: "ci", Channel: "C0SECRET", Text: "build failed"})
	s.React("U0ADA", "C0SECRET", ts, "eyes")
	if h := b.next("message", 1).Event; h.Subtype != "channel_join" || h.User != "U0ALERT" {
		t.Errorf("got %+v", h)
	}
	if h := b.next("message", 2).Event; h.BotID != "B0ALERT" || h.User != "U0ALERT" || h.AppID == App {
		t.Errorf("got %+v", h)
	}
	if h := b.next("message", 3).Event; h.BotID != "B0HOOK" || h.User != "" || h.Subtype != "bot_message" {
		t.Errorf("got %+v", h)
	}
	if h := b.next("reaction_added", 1).Event; h.ItemUser != "" || h.Item.TS != ts {
		t.Errorf("got %+v", h)
	}
	for _, e := range b.events() {
		if e.Request != nil && bytes.Contains(e.Request.Payload, []byte("item_user")) {
			t.Errorf("a webhook's message has an author: %s", e.Request.Payload)
		}
	}
	s.Leave(BotUser, "C0SECRET")
	s.Say("U0ADA", "C0SECRET", "it is gone")
	s.OpenHome("U0ADA", "messages")
	if h := b.next("app_home_opened", 1).Event; h.Tab != "messages" || h.Channel != s.DM("U0ADA") {
		t.Errorf("got %+v", h)
	}
	if n := len(b.heard("message")); n != 3 {
		t.Errorf("%d messages", n)
	}
}

// The assistant's surfaces: status, title, prompts, sessions and their stop
// button.
func TestAssistant(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	thread := s.StartAssistant("U0ADA")
	b.next("assistant_thread_started", 1)
	dm := s.DM("U0ADA")
	ctx := t.Context()
	status := func(text string) {
		wants(t, b.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{
			ChannelID: dm, ThreadTS: thread, Status: text, LoadingMessages: []string{"thinking", "still thinking"},
		}), "")
	}
	status("is thinking")
	if got := s.Status(dm, thread); got != "is thinking" {
		t.Errorf("got %q", got)
	}
	if _, _, err := b.PostMessage(dm, text("done"), slack.MsgOptionTS(thread)); err != nil {
		t.Fatal(err)
	}
	if all := s.Statuses(dm, thread); s.Status(dm, thread) != "" || len(all) != 2 || !all[1].Auto || len(all[0].Loading) != 2 {
		t.Errorf("got %+v", all)
	}
	status("is thinking")
	s.Advance(statusLife + time.Second)
	if got := s.Status(dm, thread); got != "" {
		t.Errorf("after two minutes: %q", got)
	}
	wants(t, b.SetAssistantThreadsTitleContext(ctx, slack.AssistantThreadsSetTitleParameters{ChannelID: dm, ThreadTS: thread, Title: "Deploy"}), "")
	prompts := slack.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: dm, ThreadTS: thread}
	prompts.AddPrompt("Help", "help")
	wants(t, b.SetAssistantThreadsSuggestedPromptsContext(ctx, prompts), "")
	if s.Title(dm, thread) != "Deploy" || !bytes.Contains(s.Prompts(dm, thread), []byte("Help")) {
		t.Errorf("got %q, %s", s.Title(dm, thread), s.Prompts(dm, thread))
	}
	s.StopSession("U0ADA", dm, thread)
	if h := b.next("agent_session_stopped", 1).Event; h.ThreadTS != thread || h.User != "U0ADA" {
		t.Errorf("got %+v", h)
	}
}

// A stream grows, ends, and can't be edited meanwhile; the stop button ends it.
func TestStream(t *testing.T) {
	s := Start(t, Options{Lenient: true})
	c := api(s)
	root := s.Say("U0ADA", s.DM("U0ADA"), "go")
	dm := s.DM("U0ADA")
	_, ts, err := c.StartStream(dm, slack.MsgOptionTS(root), slack.MsgOptionMarkdownText("one "))
	wants(t, err, "")
	_, _, _, err = c.UpdateMessage(dm, ts, text("x"))
	wants(t, err, "streaming_state_conflict")
	_, _, err = c.AppendStream(dm, ts, slack.MsgOptionMarkdownText("two"))
	wants(t, err, "")
	_, _, err = c.StopStream(dm, ts)
	wants(t, err, "")
	if m, _ := s.Message(dm, ts); m.Text != "one two" {
		t.Errorf("got %+v", m)
	}
	_, ts, err = c.StartStream(dm, slack.MsgOptionTS(root), slack.MsgOptionMarkdownText("again"))
	wants(t, err, "")
	s.StopSession("U0ADA", dm, root)
	_, _, err = c.AppendStream(dm, ts, slack.MsgOptionMarkdownText("x"))
	wants(t, err, "message_not_in_streaming_state")
	root = s.Say("U0ADA", "C0GENERAL", "go")
	_, _, err = c.StartStream("C0GENERAL", slack.MsgOptionTS(root))
	wants(t, err, "missing_recipient_user_id")
}

// The message of an upload can appear after the answer, and an upload is
// completed once.
func TestShareAfter(t *testing.T) {
	s := Start(t, Options{ShareAfter: 30 * time.Millisecond})
	c := api(s)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	root := s.Say("U0ADA", "C0GENERAL", "chart?")
	sum := must(c.UploadFileContext(ctx, slack.UploadFileParameters{
		Filename: "chart.png", Reader: strings.NewReader("PNG"), FileSize: 3, Channel: "C0GENERAL", ThreadTimestamp: root,
	}))(t)
	if got := s.Messages("C0GENERAL", root); len(got) != 1 {
		t.Errorf("at once there is %+v", got)
	}
	_, err := c.CompleteUploadExternalContext(ctx, slack.CompleteUploadExternalParameters{
		Files: []slack.FileSummary{{ID: sum.ID}}, Channel: "C0GENERAL", ThreadTimestamp: root,
	})
	wants(t, err, "file_not_found")
	err = s.WaitFor(ctx, func(s *Server) bool { return len(s.Messages("C0GENERAL", root)) == 2 })
	if got := s.Messages("C0GENERAL", root); err != nil || string(got[1].Files[0].Data) != "PNG" {
		t.Errorf("later there is %+v, %v", got, err)
	}
}

// Files go up in three steps and come down with the token only.
func TestFiles(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	root := s.Say("U0ADA", "C0GENERAL", "chart?")
	sum := must(b.UploadFile(slack.UploadFileParameters{
		Filename: "chart.png", Reader: strings.NewReader("PNG"), FileSize: 3, Channel: "C0GENERAL", ThreadTimestamp: root,
		InitialComment: "here", Title: "Chart",
	}))(t)
	m := s.Messages("C0GENERAL", root)[1]
	want := []File{{ID: sum.ID, Name: "chart.png", Title: "Chart", MediaType: "image/png", Data: []byte("PNG")}}
	if d := cmp.Diff(want, m.Files); d != "" || m.Text != "here" || m.Subtype != "file_share" {
		t.Errorf("got %+v; (-want +got):\n%s", m, d)
	}
	s.Write(Line{User: "U0BOB", Channel: "C0GENERAL", Text: "mine", Files: []Upload{{Name: "notes.txt", Data: []byte("hi")}}})
	h := b.next("message", 3).Event
	if h.Subtype != "file_share" || len(h.Files) != 1 || h.Files[0].Mimetype != "text/plain" {
		t.Errorf("got %+v", h)
	}
	var buf bytes.Buffer
	f, _, _, err := b.GetFileInfo(s.Messages("C0GENERAL", "")[1].Files[0].ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.GetFile(f.URLPrivateDownload, &buf); err != nil || buf.String() != "hi" {
		t.Errorf("got %q, %v", buf.String(), err)
	}
	res := must(http.Get(f.URLPrivate))(t)
	defer func() { _ = res.Body.Close() }()
	page := must(io.ReadAll(res.Body))(t)
	if res.StatusCode != http.StatusOK || bytes.Contains(page, []byte("hi")) || !bytes.Contains(page, []byte("Sign in")) {
		t.Errorf("without a token: %d %s", res.StatusCode, page)
	}
}

// Buttons, modals, slash commands and response URLs.
func TestInteractions(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	label := slack.NewTextBlockObject(slack.PlainTextType, "Steps", false, false)
	row := slack.NewActionBlock("row", slack.NewButtonBlockElement("steps", "turn 1", label))
	_, ts, err := b.PostMessage("C0GENERAL", slack.MsgOptionBlocks(row))
	if err != nil {
		t.Fatal(err)
	}
	trigger := s.Click("U0ADA", Action{Channel: "C0GENERAL", TS: ts, ActionID: "steps"})
	b.saw(socketmode.EventTypeInteractive, 1)
	click := callback(t, b, 0)
	act := click.ActionCallback.BlockActions[0]
	if click.TriggerID != trigger || click.User.ID != "U0ADA" || click.Container.MessageTs != ts || act.Value != "turn 1" || act.BlockID != "row" {
		t.Errorf("got %+v", click)
	}
	if err := slack.PostWebhook(click.ResponseURL, &slack.WebhookMessage{Text: "only you"}); err != nil {
		t.Error(err)
	}
	if e := s.Ephemerals("U0ADA"); len(e) != 1 || e[0].Text != "only you" {
		t.Errorf("got %+v", e)
	}
	view := must(b.OpenView(trigger, modal(label)))(t)
	values := map[string]map[string]any{"a": {"b": map[string]any{"type": "plain_text_input", "value": "x"}}}
	s.Submit("U0ADA", view.ID, values)
	b.saw(socketmode.EventTypeInteractive, 2)
	if sent := callback(t, b, 1); sent.Type != "view_submission" || sent.View.State.Values["a"]["b"].Value != "x" {
		t.Errorf("got %+v", sent)
	}
	s.Slash("U0BOB", "C0GENERAL", "/ask", "why?")
	b.saw(socketmode.EventTypeSlashCommand, 1)
}

func callback(t *testing.T, b *bot, n int) slack.InteractionCallback {
	t.Helper()
	for _, e := range b.events() {
		if e.Type != socketmode.EventTypeInteractive {
			continue
		}
		if n == 0 {
			return e.Data.(slack.InteractionCallback)
		}
		n--
	}
	t.Fatal("no such interaction")
	return slack.InteractionCallback{}
}

func modal(title *slack.TextBlockObject) slack.ModalViewRequest {
	return slack.ModalViewRequest{
		Type: slack.VTModal, Title: title, Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewDividerBlock()}},
	}
}

// A trigger is good for three seconds and for one view. What nobody
// acknowledges is not sent again.
func TestTriggers(t *testing.T) {
	s := Start(t, Options{Lenient: true, AckTimeout: 10 * time.Millisecond})
	label := slack.NewTextBlockObject(slack.PlainTextType, "Steps", false, false)
	first := s.Slash("U0ADA", "C0GENERAL", "/ask", "")
	c := api(s)
	_, err := c.OpenView(first, modal(label))
	wants(t, err, "")
	_, err = c.OpenView(first, modal(label))
	wants(t, err, "exchanged_trigger_id")
	second := s.Slash("U0ADA", "C0GENERAL", "/ask", "")
	s.Advance(4 * time.Second)
	_, err = c.OpenView(second, modal(label))
	wants(t, err, "expired_trigger_id")
	if d := s.Deliveries(); s.Lost() != 2 || d[0].Frames != 0 {
		t.Errorf("got %+v", d)
	}
}

// The answer in an ack is kept.
func TestAckPayload(t *testing.T) {
	s := Start(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sm := socketmode.New(api(s))
	done := make(chan error, 1)
	go func() { done <- sm.RunContext(ctx) }()
	waitFor(t, s, func(s *Server) bool { return s.Sockets() == 1 })
	s.Slash("U0ADA", "C0GENERAL", "/ask", "why?")
	for e := range sm.Events {
		if e.Type == socketmode.EventTypeSlashCommand {
			if err := sm.Ack(*e.Request, map[string]string{"text": "because"}); err != nil {
				t.Error(err)
			}
			break
		}
	}
	waitFor(t, s, func(s *Server) bool { return s.Unacked() == 0 })
	var got struct{ Text string }
	if err := json.Unmarshal(s.Deliveries()[0].Response, &got); err != nil || got.Text != "because" {
		t.Errorf("got %+v, %v", got, err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("run: %v", err)
	}
}

// Only what the app has subscribed to, and has the scope for, reaches it.
func TestSubscriptions(t *testing.T) {
	s := Start(t, Options{Events: []string{"app_mention"}})
	b := connect(t, s, 1, nil)
	s.Say("U0ADA", "C0GENERAL", "not for you")
	ts := s.Say("U0ADA", "C0GENERAL", Mention+" for you")
	s.React("U0ADA", "C0GENERAL", ts, "eyes")
	s.Say("U0ADA", "C0GENERAL", Mention+" again")
	b.next("app_mention", 2)
	if got := len(b.heard("")); got != 2 {
		t.Errorf("%d events", got)
	}
}

// A wait ends with its context.
func TestWaitForGivesUp(t *testing.T) {
	s := Start(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitFor(ctx, func(*Server) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Play that names nothing is a mistake in the test.
func TestMistakesInTests(t *testing.T) {
	s := Start(t, Options{})
	for name, act := range map[string]func(){
		"user":    func() { s.Say("U9", "C0GENERAL", "x") },
		"channel": func() { s.Say("U0ADA", "C9", "x") },
		"message": func() { s.React("U0ADA", "C0GENERAL", "1.000001", "eyes") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			act()
		}()
	}
}
