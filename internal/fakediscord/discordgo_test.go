package fakediscord_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"nod/internal/fakediscord"
)

func TestMain(m *testing.M) {
	discordgo.Logger = func(int, int, string, ...any) {} // it logs what these tests provoke
	os.Exit(m.Run())
}

// bot is a client as the adapter uses it, with the events that it got.
type bot struct {
	*discordgo.Session
	t      *testing.T
	events chan *discordgo.Event
}

func open(t *testing.T, s *fakediscord.Server, intents discordgo.Intent) *bot {
	t.Helper()
	d, err := discordgo.New("Bot " + s.Token())
	if err != nil {
		t.Fatal(err)
	}
	b := &bot{Session: d, t: t, events: make(chan *discordgo.Event, 1000)}
	d.Client, d.SyncEvents, d.Identify.Intents, d.MaxRestRetries = s.Client(), true, intents, 0
	d.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) { b.events <- e })
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.ShouldReconnectOnError = false
		_ = d.Close()
	})
	return b
}

// next gives the next event of a kind.
func (b *bot) next(kind string) *discordgo.Event {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for {
		select {
		case e := <-b.events:
			if e.Type == kind {
				return e
			}
		case <-ctx.Done():
			b.t.Fatalf("no %s came", kind)
		}
	}
}

func (b *bot) message() *discordgo.Message {
	b.t.Helper()
	return b.next("MESSAGE_CREATE").Struct.(*discordgo.MessageCreate).Message
}

func TestDiscordgoTalks(t *testing.T) {
	t.Parallel()
	s := start(t, fakediscord.Options{})
	b := open(t, s.Server, basic)
	b.next("GUILD_CREATE")
	s.Say(s.ada, s.channel, "<@"+s.Bot()+"> hi", fakediscord.With{Files: []fakediscord.File{{Name: "a.txt", Data: []byte("data")}}})
	m := b.message()
	if m.Author.ID != s.ada || m.GuildID != s.guild || m.Member == nil || len(m.Mentions) != 1 || len(m.Attachments) != 1 {
		t.Fatalf("got %+v", m)
	}
	resp, err := s.Client().Get(m.Attachments[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || string(data) != "data" {
		t.Errorf("the attachment holds %q, %v", data, err)
	}

	th, err := b.MessageThreadStartComplex(s.channel, m.ID, &discordgo.ThreadStart{Name: "hi", AutoArchiveDuration: 1440})
	if err != nil || th.ID != m.ID {
		t.Fatalf("thread %+v, %v", th, err)
	}
	_, err = b.MessageThreadStart(s.channel, m.ID, "hi", 60)
	var rest *discordgo.RESTError
	if !errors.As(err, &rest) || rest.Message == nil || rest.Message.Code != 160004 {
		t.Errorf("a second thread: %v, want 160004", err)
	}
	answer, err := b.ChannelMessageSendComplex(th.ID, &discordgo.MessageSend{
		Content: "hello", AllowedMentions: &discordgo.MessageAllowedMentions{},
		Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
			discordgo.Button{Label: "Steps", Style: discordgo.SecondaryButton, CustomID: "steps"},
		}}},
		Files: []*discordgo.File{{Name: "b.md", ContentType: "text/markdown", Reader: strings.NewReader("# b")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	large := strings.NewReader(strings.Repeat("x", 10<<20+1))
	_, err = b.ChannelMessageSendComplex(th.ID, &discordgo.MessageSend{Files: []*discordgo.File{{Name: "x.bin", Reader: large}}})
	if !errors.As(err, &rest) || rest.Message == nil || rest.Message.Code != 40005 {
		t.Fatalf("a file that is too large: %v, want 40005", err)
	}
	if err := b.MessageReactionAdd(th.ID, answer.ID, "✅"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ChannelMessageEdit(th.ID, answer.ID, "hello again"); err != nil {
		t.Fatal(err)
	}
	if err := b.ChannelTyping(th.ID); err != nil {
		t.Fatal(err)
	}
	got := s.Posts(th.ID)
	if len(got) != 1 || got[0].Content != "hello again" || len(got[0].Files) != 1 || string(got[0].Files[0].Data) != "# b" || got[0].Files[0].Name != "b.md" {
		t.Errorf("posts: %+v", got)
	}
	if diff := cmp.Diff([]string{"steps"}, got[0].Buttons()); diff != "" {
		t.Errorf("buttons (-want +got):\n%s", diff)
	}
	users, err := b.MessageReactions(th.ID, answer.ID, "✅", 100, "", "")
	if err != nil || len(users) != 1 || users[0].ID != s.Bot() {
		t.Errorf("reactions: %v, %v", users, err)
	}
	if v := s.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}

func TestDiscordgoNonce(t *testing.T) {
	t.Parallel()
	s := start(t, fakediscord.Options{NoLimits: true})
	b := open(t, s.Server, basic)
	dm, err := b.UserChannelCreate(s.ada)
	if err != nil || dm.ID != s.DM(s.ada) {
		t.Fatalf("%+v, %v", dm, err)
	}
	body := struct {
		*discordgo.MessageSend
		Nonce        string `json:"nonce"`
		EnforceNonce bool   `json:"enforce_nonce"`
	}{&discordgo.MessageSend{Content: "once"}, "n", true}
	s.Inject(fakediscord.Fault{Route: "POST /channels/{channel}/messages", Status: 502, After: true})
	path := discordgo.EndpointChannelMessages(dm.ID)
	if _, err := b.RequestWithBucketID(http.MethodPost, path, body, path); err == nil {
		t.Error("no error came of a 502")
	}
	if _, err := b.RequestWithBucketID(http.MethodPost, path, body, path); err != nil {
		t.Fatal(err)
	}
	if got := len(s.Posts(dm.ID)); got != 1 {
		t.Errorf("%d posts, want 1", got)
	}
	b.next("MESSAGE_CREATE")
}

func TestDiscordgoInteraction(t *testing.T) {
	t.Parallel()
	s := start(t, fakediscord.Options{NoLimits: true})
	b := open(t, s.Server, basic)
	commands, err := b.ApplicationCommandBulkOverwrite(s.Bot(), "", []*discordgo.ApplicationCommand{{
		Name: "ask", Description: "Ask", Options: []*discordgo.ApplicationCommandOption{
			{Type: discordgo.ApplicationCommandOptionString, Name: "question", Description: "What", Required: true},
		},
	}})
	if err != nil || len(commands) != 1 || commands[0].ID == "" {
		t.Fatalf("%+v, %v", commands, err)
	}
	s.Slash(s.ada, s.channel, "ask", map[string]any{"question": "why?"})
	i := b.next("INTERACTION_CREATE").Struct.(*discordgo.InteractionCreate).Interaction
	if o := i.ApplicationCommandData().Options; len(o) != 1 || o[0].StringValue() != "why?" || i.Member.User.ID != s.ada {
		t.Fatalf("got %+v", i)
	}
	err = b.InteractionRespond(i, &discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseDeferredChannelMessageWithSource,
		Data: &discordgo.InteractionResponseData{Flags: discordgo.MessageFlagsEphemeral},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := "because"
	if _, err := b.InteractionResponseEdit(i, &discordgo.WebhookEdit{Content: &text}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.FollowupMessageCreate(i, true, &discordgo.WebhookParams{Content: "more", Flags: discordgo.MessageFlagsEphemeral}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.Ephemerals(s.ada) {
		got = append(got, m.Content)
	}
	if diff := cmp.Diff([]string{"because", "more"}, got); diff != "" {
		t.Errorf("ada sees (-want +got):\n%s", diff)
	}
	if v := s.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}
