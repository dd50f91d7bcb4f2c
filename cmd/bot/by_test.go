package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"nod/internal/fakeslack"
)

// A program puts reactions in the approver's name, a thousand under `make long`, live and
// while the service is down. Where only a click approves, the call does not run, and then
// runs once for the click.
func TestSlackReactionsOfPrograms(t *testing.T) {
	t.Parallel()
	w := quickSlack(t)
	n := newService(t, w, frail, setup{extra: "approvals: {by: [button]}\n"})
	n.start()
	at := w.mention("ada", "deploy prod now")
	ask := n.ask(at, `{"env":"prod"}`)
	all := points(make([]string, 500))
	for i := range all {
		if i == len(all)/2 {
			n.stop()
		}
		for _, emoji := range []string{"✅", "👍"} {
			w.react("ada", ask.place, emoji)
			if i < len(all)-1 {
				w.unreact("ada", ask.place, emoji)
			}
		}
		if i < len(all)/2 && i%10 == 0 {
			eventually(t, "the service keeps pace", func() bool { return w.s.Unacked() == 0 })
		}
	}
	n.start()
	eventually(t, "the reactions that stood are judged", func() bool { return len(w.told("ada", at)) > 0 && w.s.Unacked() == 0 })
	if ran := n.ran(); len(ran) > 0 {
		t.Errorf("reactions ran %q", ran)
	}
	w.s.Click("U0ADA", fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: "nod_approve"})
	n.find(at, "The tool says")
	if ran := n.ran(); !slices.Equal(ran, []string{"deployed prod"}) {
		t.Errorf("it ran %q", ran)
	}
	n.stop()
	_, log, _ := n.bot("audit", "--config", n.file)
	if !strings.Contains(log, "needs a click on Approve") { // one that was taken off before it was looked at left no trace
		t.Error("the audit log names no reaction that does not count")
	}
}

// coder is a world whose people have second factors.
type coder interface {
	world
	account(user string) string
	press(user string, ask post) (click string) // presses Approve
	// code fills in the form that Approve opens, and gives the refusal.
	code(t *testing.T, user string, ask post, digits string) (wrong string)
}

func (w *slackWorld) account(user string) string   { return "slack:" + w.users[user] }
func (w *discordWorld) account(user string) string { return "discord:" + w.users[user] }

func (w *slackWorld) press(user string, ask post) string {
	w.s.Click(w.users[user], fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: "nod_code"})
	return ""
}

func (w *discordWorld) press(user string, ask post) string {
	return w.s.Click(w.users[user], ask.message, w.s.Message(ask.message).Buttons()[0])
}

func (w *slackWorld) code(t *testing.T, user string, ask post, digits string) (wrong string) {
	t.Helper()
	had := len(w.s.Views(w.users[user]))
	view := func() (v fakeslack.View) {
		if all := w.s.Views(w.users[user]); len(all) > had {
			v = all[had]
		}
		return v
	}
	w.press(user, ask)
	eventually(t, "the form opens", func() bool { return view().ID != "" })
	w.s.Fill(w.users[user], view().ID, map[string]string{"code": digits})
	eventually(t, "the form is answered", func() bool { return view().Closed || len(view().Errors) > 0 })
	return view().Errors["code"]
}

func (w *discordWorld) code(t *testing.T, user string, ask post, digits string) (wrong string) {
	t.Helper()
	click := w.press(user, ask)
	eventually(t, "the form opens", func() bool { return w.asked(click).Form != "" })
	sent := w.s.FillIn(click, map[string]string{"code": digits})
	eventually(t, "the form is answered", func() bool { return w.answered(sent) })
	for _, m := range w.asked(sent).Replies {
		wrong += m.Text()
	}
	return wrong
}

// With a factor only the form's vote approves, once for one card. A reaction, a code that
// was used, wrong ones and a right one of who is locked out run nothing. Neither the log nor
// the store holds a code or the secret.
func TestCodes(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]coder{"slack": quickSlack(t), "discord": quickDiscord(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codes(t, w)
		})
	}
}

func codes(t *testing.T, w coder) {
	t.Helper()
	n := newService(t, w, frail, setup{extra: "approvals: {factor: code, approvers: [anyone], factor_key: my.factor}\n"})
	_, address, _ := n.bot("factor", "add", w.account("ada"), "--config", n.file)
	phone, err := otp.NewKeyFromURL(strings.TrimSpace(address))
	if err != nil {
		t.Fatal(address, err)
	}
	now := time.Now()
	code := func(ahead time.Duration) string {
		digits, err := totp.GenerateCode(phone.Secret(), now.Add(ahead))
		if err != nil {
			t.Fatal(err)
		}
		return digits
	}
	n.start()
	var at place
	told := func(user, want string) int { return strings.Count(strings.Join(w.told(user, at), "\n"), want) }
	asks := func() (ask post) { // and by then the log says where the card stands
		const press = "Press Approve: this call needs a code."
		at = w.mention("ada", "deploy prod now")
		had := told("ada", press)
		ask = n.ask(at, `{"env":"prod"}`)
		w.react("ada", ask.place, "✅")
		eventually(t, "ada is told of the code", func() bool { return told("ada", press) > had })
		return ask
	}
	ask := asks()
	right := code(30 * time.Second) // which is right for a minute
	if wrong := w.code(t, "ada", ask, right); wrong != "" {
		t.Errorf("the right code: %s", wrong)
	}
	n.find(at, "The tool says")
	ask = asks()
	for i, digits := range []string{right, code(time.Hour), code(2 * time.Hour), code(3 * time.Hour), code(4 * time.Hour), code(5 * time.Hour)} {
		if wrong := w.code(t, "ada", ask, digits); wrong == "" {
			t.Errorf("code %d counts", i)
		}
	}
	w.press("ada", ask)
	w.press("bob", ask)
	eventually(t, "both are refused", func() bool {
		return told("ada", "Too many wrong codes; try again in 15 minutes.") > 0 && told("bob", "You have no code here; whoever runs me gives you one.") > 0
	})
	n.stop()
	if ran := n.ran(); !slices.Equal(ran, []string{"deployed prod"}) {
		t.Errorf("it ran %q", ran)
	}
	_, log, _ := n.bot("audit", "--config", n.file)
	if !strings.Contains(log, "locked out for 15 minutes after five wrong codes") {
		t.Errorf("the audit log does not tell that somebody is locked out: %s", log)
	}
	all, err := filepath.Glob(filepath.Join(filepath.Dir(n.file), "nod.*"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	kept := n.logs.String() + log
	for _, file := range all {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kept += string(raw)
	}
	for _, secret := range []string{phone.Secret(), `"` + right + `"`, " " + right} {
		if strings.Contains(kept, secret) {
			t.Errorf("%q is kept", secret)
		}
	}
}

// A click in a direct conversation is judged by the server that the call is of: who has left
// it decides nothing, and once more who is back.
func TestDiscordClickOfWhoLeft(t *testing.T) {
	t.Parallel()
	w := quickDiscord(t)
	n := newService(t, w, frail, setup{extra: "approvals: {notify: [dm]}\n"})
	n.start()
	at := w.mention("ada", "deploy prod now")
	n.ask(at, `{"env":"prod"}`)
	dm := w.s.DM(w.users["ada"])
	card := n.ask(place{dm, dm, ""}, `{"env":"prod"}`)
	w.s.Leave(w.guild, w.users["ada"])
	click := w.press("ada", card)
	eventually(t, "she is told why it does not count", func() bool {
		return w.answered(click) && strings.Contains(strings.Join(w.told("ada", card.place), "\n"), "server")
	})
	if ran := n.ran(); len(ran) > 0 {
		t.Errorf("it ran %q", ran)
	}
	w.s.Join(w.guild, w.users["ada"])
	w.press("ada", card)
	n.find(at, "The tool says")
	if ran := n.ran(); !slices.Equal(ran, []string{"deployed prod"}) {
		t.Errorf("it ran %q", ran)
	}
}
