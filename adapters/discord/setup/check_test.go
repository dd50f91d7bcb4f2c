package setup

import (
	"encoding/base64"
	"strings"
	"testing"

	"nod/adapters/discord"
	"nod/front"
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

// works is a fake Discord with a guild of that name.
func works(t *testing.T, o fakediscord.Options) (fake *fakediscord.Server, guild string) {
	o.NoLimits = true
	fake = fakediscord.Start(t, o)
	return fake, fake.AddGuild("works")
}

func optionsOf(fake *fakediscord.Server) discord.Options {
	return discord.Options{Token: fake.Token(), APIURL: fake.URL(), Common: front.Common{Pace: 100}}
}

// A check finds permissions that a channel takes back, and servers beyond the first
// page.
func TestCheckEverywhere(t *testing.T) {
	t.Parallel()
	fake, guild := works(t, fakediscord.Options{Invite: permissions()})
	fake.Overwrite(fake.AddChannel(guild, "general"), fake.BotRole(guild), 0, fakediscord.SendMessagesInThreads|fakediscord.AttachFiles)
	for range 200 {
		fake.AddGuild("more")
	}
	ops := fake.AddRole(guild, "ops", 0)
	fake.BotMay(fake.AddGuild("the last"), fakediscord.Usual&^fakediscord.AddReactions)
	opt := optionsOf(fake)
	opt.Roles = []string{ops}
	found, err := Check(t.Context(), opt, nil)
	if err == nil || !strings.Contains(err.Error(), "server the last: the bot lacks Add Reactions") {
		t.Errorf("%v", err)
	}
	if all := strings.Join(found, "\n"); !strings.Contains(all, "server works: in #general the bot lacks Send Messages in Threads, Attach Files") || !strings.Contains(all, "server works: the role ops does not ring: make it mentionable") {
		t.Errorf("found %s", all)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fake   fakediscord.Options
		change func(*discord.Options)
		found  string
		err    string
	}{
		{"fine", fakediscord.Options{Invite: permissions()}, nil, "server works: all permissions are there", ""},
		{"no content", fakediscord.Options{}, nil, "each message to it needs a mention", ""},
		{"token", fakediscord.Options{}, func(o *discord.Options) { o.Token = "wrong" }, "", "copy the token again"},
		{"intent", fakediscord.Options{}, func(o *discord.Options) { o.Follow = "thread" }, "", "needs the Message Content Intent"},
		{"intent on", fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, func(o *discord.Options) { o.Follow = "thread" }, "is switched on", ""},
		{"alerts", fakediscord.Options{}, func(o *discord.Options) { o.Reads = true }, "", "an alert of a bot needs the Message Content Intent"},
		{"permissions", fakediscord.Options{Invite: permissions() &^ fakediscord.AttachFiles}, nil, "", "server works: the bot lacks Attach Files"},
		{"public", fakediscord.Options{Public: true}, nil, "anybody may invite the bot", ""},
		{"public, listed", fakediscord.Options{Public: true}, func(o *discord.Options) { o.Guilds = []string{"5"} }, "server works", ""},
		{"ids", fakediscord.Options{}, nil, "server works", "channel:77: the bot sees none with this id: correct it, or invite the bot there\nrole:55: no server of the bot has a role with this id: correct it, or invite the bot there\nuser:99: the bot sees none"},
		{"administrator", fakediscord.Options{Invite: fakediscord.Administrator}, nil, "all permissions are there", ""},
	}
	for _, tt := range tests {
		fake, guild := works(t, tt.fake)
		fake.Overwrite(fake.AddChannel(guild, "hidden"), guild, 0, fakediscord.ViewChannel)
		opt := optionsOf(fake)
		if tt.change != nil {
			tt.change(&opt)
		}
		var rules []string
		if tt.name == "ids" {
			rules = []string{"requester", "user:99", "user:" + fake.Bot(), "user:U012ABC", "role:" + guild, "role:55", "channel:77"}
		}
		found, err := Check(t.Context(), opt, rules)
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if all := strings.Join(found, "\n"); !strings.Contains(all, tt.found) {
			t.Errorf("%s: found %s", tt.name, all)
		}
		for _, c := range fake.Calls("") {
			if !strings.HasPrefix(c.Route, "GET ") {
				t.Errorf("%s: it changed something: %s", tt.name, c.Route)
			}
		}
	}
}
