package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/cmd/bot/config"
	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// A POST begins a thread in the alert's channel and a turn of nobody's, whose approvers
// decide; the message of a bot does below it. What comes twice begins nothing.
func TestAlerts(t *testing.T) {
	t.Parallel()
	t.Run("slack", func(t *testing.T) {
		t.Parallel()
		w := newSlackWorld(t, fakeslack.Options{})
		playAlerts(t, w, "slack:C0GEN", "slack:B0MON", place{channel: "C0GEN"}, func(text string) place {
			ts := w.s.Write(fakeslack.Line{Bot: "B0MON", Channel: "C0GEN", Text: text})
			return place{"C0GEN", ts, ts}
		})
	})
	t.Run("discord", func(t *testing.T) {
		t.Parallel()
		w := newDiscordWorld(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent})
		w.extra = ", follow: mentions"
		bot := w.s.AddBot("monitor")
		w.s.Join(w.guild, bot)
		playAlerts(t, w, "discord:"+w.channel, "discord:"+bot, place{channel: w.channel, thread: w.channel}, func(text string) place {
			id := w.s.Say(bot, w.channel, text)
			return place{w.channel, id, id}
		})
	})
}

func playAlerts(t *testing.T, w world, in, bot string, channel place, write func(text string) place) {
	t.Helper()
	hooks := freeAddr(t)
	n := newService(t, w, frail, setup{extra: fmt.Sprintf(`alerts:
  - {name: pages, secret: s3cret, in: %q, ask: "deploy prod now", same: "{labels.alertname}", approvers: [%q]}
  - {name: monitor, bot: %q, match: "FIRING (?P<what>\\S+)", same: "{what}", ask: "deploy monitor now", approvers: [%[2]q]}
`, in, w.approver("bob"), bot)})
	text, err := os.ReadFile(n.file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "http: {", fmt.Sprintf("http: {hooks: %q, ", hooks), 1))
	if err := os.WriteFile(n.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	body := `{"labels": {"alertname": "HighLoad"}, "note": "load 12"}`
	for range 2 {
		if status := postAlert(t, "http://"+hooks+"/hooks/pages", "s3cret", body); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	if status := postAlert(t, "http://"+hooks+"/hooks/pages", "other", body); status != http.StatusUnauthorized {
		t.Fatalf("with another secret: status %d", status)
	}
	head := n.find(channel, "Alert pages", "HighLoad").place
	head.thread = head.message
	card := n.ask(head, `{"env":"prod"}`)
	if !strings.Contains(card.text, "sked by") || !strings.Contains(card.text, "alert pages") {
		t.Errorf("the card says %q", card.text)
	}
	w.react("bob", card.place, "✅")
	n.find(head, "The tool says")

	below := write("FIRING DiskFull")
	w.react("bob", n.ask(below, `{"env":"monitor"}`).place, "✅")
	n.find(below, "The tool says")
	if ran := n.ran(); !slices.Equal(ran, []string{"deployed prod", "deployed monitor"}) {
		t.Errorf("it ran %q", ran)
	}
}

// postAlert posts in the format nod.
func postAlert(t *testing.T, to, secret, body string) int {
	t.Helper()
	at := fmt.Sprint(time.Now().Unix())
	sum := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprint(sum, at+"."+body)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Nod-Time", at)
	r.Header.Set("X-Nod-Signature", "sha256="+hex.EncodeToString(sum.Sum(nil)))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// check looks up the channels of rooms and of alerts, and the bots of alerts.
func TestPlacesAreLookedUp(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Rooms: []config.Room{{In: []string{"slack:C0OPS", "discord:12"}}}, Alerts: []config.Alert{{In: "slack:C0ONCALL"}, {Bot: "slack:B0MON"}}}
	if got, want := rulesOf(cfg, nil), []string{"bot:B0MON", "channel:C0OPS", "channel:12", "channel:C0ONCALL"}; !slices.Equal(got, want) {
		t.Errorf("it looks up %q, want %q", got, want)
	}
}
