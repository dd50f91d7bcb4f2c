package discord

import (
	"encoding/base64"
	"strings"
	"testing"

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
		"Message Content Intent", "MESSAGE_CONTENT", "Create Public Threads",
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

func TestCheck(t *testing.T) {
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
		{"administrator", fakediscord.Options{Invite: fakediscord.Administrator}, nil, "all permissions are there", ""},
	}
	for _, tt := range tests {
		o := build(t, tt.fake)
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
