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

// With a factor only the form's vote approves, once for one card. A reaction, a code that
// was used, wrong ones and a right one of who is locked out run nothing. Neither the log nor
// the store holds a code or the secret.
func TestSlackCodes(t *testing.T) {
	t.Parallel()
	w := quickSlack(t)
	n := newService(t, w, frail, setup{extra: "approvals: {factor: code, approvers: [anyone], factor_key: my.factor}\n"})
	_, address, _ := n.bot("factor", "add", "slack:U0ADA", "--config", n.file)
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
	sends := func(user string, ask post, digits string) (wrong string) {
		had := len(w.s.Views(user))
		view := func() (v fakeslack.View) {
			if all := w.s.Views(user); len(all) > had {
				v = all[had]
			}
			return v
		}
		w.s.Click(user, fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: "nod_code"})
		eventually(t, "the form opens", func() bool { return view().ID != "" })
		w.s.Fill(user, view().ID, map[string]string{"code": digits})
		eventually(t, "the form is answered", func() bool { return view().Closed || len(view().Errors) > 0 })
		return view().Errors["code"]
	}
	n.start()
	var at place
	told := func(user, want string) bool {
		return slices.ContainsFunc(w.told(user, at), func(text string) bool { return strings.HasPrefix(text, want+"\n") })
	}
	asks := func() (ask post) { // and by then the log says where the card stands
		at = w.mention("ada", "deploy prod now")
		had := len(w.told("ada", at))
		ask = n.ask(at, `{"env":"prod"}`)
		w.react("ada", ask.place, "✅")
		eventually(t, "ada is told of the code", func() bool {
			all := w.told("ada", at)
			return len(all) > had && strings.HasPrefix(all[had], "Press Approve: this call needs a code.\n")
		})
		return ask
	}
	ask := asks()
	right := code(30 * time.Second) // which is right for a minute
	if wrong := sends("U0ADA", ask, right); wrong != "" {
		t.Errorf("the right code: %s", wrong)
	}
	n.find(at, "The tool says")
	ask = asks()
	for i, digits := range []string{right, code(time.Hour), code(2 * time.Hour), code(3 * time.Hour), code(4 * time.Hour), code(5 * time.Hour)} {
		if wrong := sends("U0ADA", ask, digits); wrong == "" {
			t.Errorf("code %d counts", i)
		}
	}
	w.s.Click("U0ADA", fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: "nod_code"})
	w.s.Click("U0BOB", fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: "nod_code"})
	eventually(t, "both are refused", func() bool {
		return told("ada", "Too many wrong codes; try again in 15 minutes.") && told("bob", "You have no code here; whoever runs me gives you one.")
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
