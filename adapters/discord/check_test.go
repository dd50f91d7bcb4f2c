package discord

import (
	"encoding/base64"
	"strings"
	"testing"

	"nod/adapters/discord/api"
	"nod/internal/fakediscord"
)

func TestManifest(t *testing.T) {
	token := base64.RawStdEncoding.EncodeToString([]byte("123456789012345678")) + ".x.secret"
	got, err := Manifest(ManifestOptions{Token: token, Follow: "thread", Commands: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"https://discord.com/oauth2/authorize?client_id=123456789012345678&permissions=309237746752&scope=bot+applications.commands",
		"Message Content Intent", "MESSAGE_CONTENT", "Create Public Threads", "voice channels it needs Connect", "Use External Emoji",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	got, err = Manifest(ManifestOptions{Token: "secret", Follow: "mentions"})
	if err != nil || !strings.Contains(got, "client_id=APPLICATION_ID&") || strings.Contains(got, "MESSAGE_CONTENT") ||
		strings.Contains(got, "secret") || strings.Contains(got, "commands") {
		t.Errorf("%v:\n%s", err, got)
	}
}

// A check finds permissions that a channel takes back, and servers beyond the first
// page.
func TestCheckEverywhere(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{Invite: permissions()})
	o.fake.Overwrite(o.general, o.fake.BotRole(o.guild), 0, fakediscord.SendMessagesInThreads|fakediscord.AttachFiles)
	for range 200 {
		o.fake.AddGuild("more", o.ada)
	}
	ops := o.fake.AddRole(o.guild, "ops", 0)
	o.fake.BotMay(o.fake.AddGuild("the last", o.ada), fakediscord.Usual&^fakediscord.AddReactions)
	opt := o.options()
	opt.Roles = []string{ops}
	found, err := Check(t.Context(), opt)
	if err == nil || !strings.Contains(err.Error(), "server the last: the bot lacks Add Reactions") {
		t.Errorf("%v", err)
	}
	if all := strings.Join(found, "\n"); !strings.Contains(all, "server works: in #general the bot lacks Send Messages in Threads, Attach Files") || !strings.Contains(all, "server works: the role ops does not ring: make it mentionable") {
		t.Errorf("found %s", all)
	}
}

// A token that was reset ends the service, which nothing else would.
func TestTokenReset(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	a, err := New(o.options())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(t.Context()) }()
	o.a = a
	o.ready()
	o.fake.ResetToken()
	if err := a.React(t.Context(), api.RefOf(api.Place{Channel: o.fake.DM(o.ada)}, "123"), "✅"); err == nil {
		t.Error("it reacted")
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "copy discord.token again") {
		t.Errorf("it ended with %v", err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fake   fakediscord.Options
		change func(*Options)
		found  string
		err    string
	}{
		{"fine", fakediscord.Options{Invite: permissions()}, nil, "server works: all permissions are there", ""},
		{"no content", fakediscord.Options{}, nil, "each message to it needs a mention", ""},
		{"token", fakediscord.Options{}, func(o *Options) { o.Token = "wrong" }, "", "copy the token again"},
		{"intent", fakediscord.Options{}, func(o *Options) { o.Follow = "thread" }, "", "needs the Message Content Intent"},
		{"intent on", fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, func(o *Options) { o.Follow = "thread" }, "is switched on", ""},
		{"permissions", fakediscord.Options{Invite: permissions() &^ fakediscord.AttachFiles}, nil, "", "server works: the bot lacks Attach Files"},
		{"public", fakediscord.Options{Public: true}, nil, "anybody may invite the bot", ""},
		{"public, listed", fakediscord.Options{Public: true}, func(o *Options) { o.Guilds = []string{"5"} }, "server works", ""},
		{"administrator", fakediscord.Options{Invite: fakediscord.Administrator}, nil, "all permissions are there", ""},
	}
	for _, tt := range tests {
		o := build(t, tt.fake)
		o.fake.Overwrite(o.fake.AddChannel(o.guild, "hidden"), o.guild, 0, fakediscord.ViewChannel)
		opt := o.options()
		if tt.change != nil {
			tt.change(&opt)
		}
		found, err := Check(t.Context(), opt)
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if all := strings.Join(found, "\n"); !strings.Contains(all, tt.found) {
			t.Errorf("%s: found %s", tt.name, all)
		}
		for _, c := range o.fake.Calls("") {
			if !strings.HasPrefix(c.Route, "GET ") {
				t.Errorf("%s: it changed something: %s", tt.name, c.Route)
			}
		}
	}
}
