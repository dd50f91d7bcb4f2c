package discord

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/internal/fakediscord"
)

// through is a transport that may answer by itself.
type through func(r *http.Request) (status int, body string, answered bool)

func (f through) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, answered := f(r)
	if !answered {
		return http.DefaultTransport.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func via(f through) func(*Options) {
	return func(o *Options) { o.HTTP = &http.Client{Transport: f} }
}

// A message that can't be answered doesn't keep the answer from being posted.
func TestUnanswerable(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	refusals := 0
	o.run(via(func(r *http.Request) (int, string, bool) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
			return 0, "", false
		}
		body, err := r.GetBody()
		if err != nil {
			return 0, "", false
		}
		raw, _ := io.ReadAll(body)
		if !strings.Contains(string(raw), "message_reference") {
			return 0, "", false
		}
		refusals++
		return http.StatusBadRequest, `{"code":50035,"message":"Invalid Form Body"}`, true
	}))
	dm := o.fake.DM(o.ada)
	p := answer("a", "hi")
	p.ReplyTo = api.RefOf(api.Place{Channel: dm}, o.fake.Say(o.ada, dm, "hi"))
	o.post(direct(dm), p, false)
	if refusals != 1 || len(o.fake.Posts(dm)) != 1 {
		t.Errorf("%d refusals, %d posts", refusals, len(o.fake.Posts(dm)))
	}
}

// Some emoji Discord knows in their coloured form only.
func TestColouredEmoji(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	o.run(via(func(r *http.Request) (int, string, bool) {
		bare := strings.HasSuffix(r.URL.Path, "/reactions/✔/@me")
		return http.StatusBadRequest, `{"code":10014,"message":"Unknown Emoji"}`, bare
	}))
	dm := o.fake.DM(o.ada)
	id := o.fake.Say(o.ada, dm, "hi")
	if err := o.a.React(t.Context(), api.RefOf(api.Place{Channel: dm}, id), "✔"); err != nil {
		t.Fatal(err)
	}
	if got := o.fake.Reactions(id); len(got) != 1 || got[0].Emoji.Name != "✔\uFE0F" {
		t.Errorf("reactions %+v", got)
	}
}

// A button shows the steps of the channel in which it stands, and of no other.
func TestForeignButton(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	for _, id := range []string{layout.Shows{Kind: layout.StepsButton, Place: api.Place{Channel: "8", Thread: "9"}, Turn: "3", Page: 0}.ID(), "steps|8:9|3|x", "steps|8:9|3|-1", "else", ""} {
		in := api.Interaction{ID: "1", Token: "t", ChannelID: "7", Type: discordgo.InteractionMessageComponent, User: &api.User{ID: o.ada}}
		in.Data.CustomID = id
		if err := o.a.pressed(t.Context(), in); err == nil {
			t.Errorf("%q is answered", id)
		}
	}
	if n := len(o.fake.Calls("POST /interactions/{interaction}/{token}/callback")); n != 0 {
		t.Errorf("%d answers", n)
	}
}

// A post that somebody deleted while its outcome was unknown is made again.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	first := o.post(direct(dm), answer("a", "hi"), false)
	o.fake.Delete(first.ID)
	if again := o.post(direct(dm), answer("a", "hi"), true); again == first || len(o.fake.Posts(dm)) != 1 {
		t.Errorf("%v and %v, posts %+v", first, again, o.fake.Posts(dm))
	}
}

// A person's message in a chain of replies is taken back from its conversation.
func TestChainDeletion(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.CreatePublicThreads)
	id := o.fake.Say(o.ada, o.general, o.mention()+" deploy")
	th := thread(o.general, id)
	ref := o.post(th, answer("a", "deployed"), false)
	reply := o.fake.Say(o.bob, o.general, "and web?", fakediscord.With{ReplyTo: ref.ID})
	o.fake.Delete(reply)
	o.in.Await(t, func() bool {
		return len(o.in.Deletions) == 1 && o.in.Deletions[0] == api.RefOf(api.PlaceOf(th), reply)
	})
}

// Errors name no address: an interaction's holds its token.
func TestErrorsTellNoSecrets(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	in := api.Interaction{ID: "1", Token: "secret-token", ApplicationID: "2"}
	failures := []error{o.a.respond(t.Context(), in, answerMessage, newPage("hi"))}
	o.fake.Close()
	failures = append(failures, o.a.respond(t.Context(), in, answerMessage, newPage("hi")), o.a.fulfil(t.Context(), in, newPage("hi")))
	for _, err := range failures {
		if err == nil || strings.Contains(err.Error(), "secret-token") || strings.Contains(err.Error(), o.fake.Token()+" ") {
			t.Errorf("error %v", err)
		}
	}
}

// A guild's own emoji is taken for no other, whatever it is called.
func TestCustomEmoji(t *testing.T) {
	for _, name := range []string{"white_check_mark", "x", "+1", "✅"} {
		if got := chat.NormalEmoji((&api.Emoji{ID: "123", Name: name}).APIName()); got == "✅" || got == "❌" || got == "👍" {
			t.Errorf("%s counts as %s", name, got)
		}
	}
}
