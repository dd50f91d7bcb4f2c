package web

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"nod/chat"
)

func (y *tray) Card(_ context.Context, thread chat.ThreadID, call string) (chat.Approval, bool, error) {
	return editCard(), call == "c1" && thread.Channel == "ops", nil
}

func (y *tray) Change(_ context.Context, thread chat.ThreadID, c chat.Change, ids ...string) (string, error) {
	if strings.Contains(c.Args, "moon") {
		return "there is no <moon>", nil
	}
	_, err := y.put("change "+thread.Root+" "+c.Call+" "+string(c.By.ID)+" "+c.Args+" "+c.Digest, ids)
	return "", err
}

func editCard() chat.Approval {
	return chat.Approval{
		Call: "c1", Tool: "deploy", Args: `{"env":"prod","note":"\n<b>"}`, Digest: "0123456789abcdef", Number: 3, Headline: "Approval 3: deploy",
		Requester: People[0], Approvers: []string{"anyone"}, Approve: []string{"✅"}, Deny: []string{"❌"}, Deadline: time.Unix(2e9, 0), Grant: time.Hour,
		Parameters: `{"type":"object","properties":{"env":{"enum":["dev","prod"],"description":"Where to"},"force":{"type":"boolean"},"note":{"type":"string"},"n":{"type":"integer"}},"required":["env"]}`,
	}
}

// A card holds a form with the arguments; what is sent is put with the digest of what
// was shown, and what is wrong with it is said.
func TestEditForm(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "ops", "text", "@nod deploy", "id", "message0")
	p := editCard()
	ref, _ := r.a.Post(t.Context(), threadID("ops", "message0"), chat.Post{Key: "ask/c1", Approval: &p}, false)
	body := r.get("/?c=ops&t=message0").Body.String()
	for _, want := range []string{
		`<option value="&#34;prod&#34;" selected>prod</option>`, `<span class="note">Where to</span>`, `<input type="checkbox" name="bforce" value="true">`,
		"<textarea name=\"snote\" rows=\"4\">\n\n&lt;b&gt;</textarea>", `<input name="nn" value="" autocomplete="off">`, ">Approve, and for 1 h</button>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the card has no %s:\n%s", want, body)
		}
	}
	r.tray.did = nil
	fields := func(env, n string) string {
		return url.Values{
			"ref": {ref.String()}, "as": {"ben"}, "id": {newID()}, "digest": {p.Digest}, "field": {"menv", "bforce", "snote", "nn"},
			"menv": {env}, "snote": {"\r\n<b>"}, "nn": {n},
		}.Encode()
	}
	for _, tt := range []struct {
		env, n, says string
		want         int
	}{
		{`"dev"`, "x", "n: this is no number", http.StatusUnprocessableEntity},
		{`"moon"`, "", "there is no <moon>", http.StatusUnprocessableEntity},
		{`"dev"`, "2", "", http.StatusSeeOther},
	} {
		if w := r.submit("/change", "application/x-www-form-urlencoded", fields(tt.env, tt.n)); w.Code != tt.want || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s, %s: %d %s", tt.env, tt.n, w.Code, w.Body)
		}
	}
	if want := `change message0 c1 ben {"env":"dev","note":"\n<b>","n":2} ` + p.Digest; len(r.tray.did) != 1 || r.tray.did[0] != want {
		t.Errorf("did %q", r.tray.did)
	}
	r.send("/press", "ref", ref.String(), "what", "grant", "as", "ben", "digest", p.Digest)
	if last := r.tray.did[len(r.tray.did)-1]; !strings.HasSuffix(last, "✅ by ben by button for a while") {
		t.Errorf("did %q", r.tray.did)
	}
}

// So does a card that an earlier process drew.
func TestEditLater(t *testing.T) {
	r := openRoom(t)
	p := editCard()
	p.Parameters, p.Grant = "", 0
	line := chat.Line{At: time.Unix(1, 0), Ref: postRef(threadID("ops", "message0"), "ask/c1"), Post: &chat.Post{Key: "ask/c1", Approval: &p}}
	r.a.restore(t.Context(), spoken{threadID("ops", "message0"), line})
	if body := r.get("/?c=ops&t=message0").Body.String(); !strings.Contains(body, `name="bforce"`) || !strings.Contains(body, "and for 1 h") {
		t.Errorf("the card is %s", body)
	}
}

// Another try of an answer folds the one before it.
func TestEarlierAnswer(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "ops", "text", "@nod what is it?", "id", "message0")
	_, _ = r.a.Post(t.Context(), threadID("ops", "message0"), chat.Post{Key: "answer/2", Text: &chat.Text{
		Markdown: "It is 42.", Earlier: &chat.Earlier{Try: 1, Markdown: "It is *41*. <b>"},
	}}, false)
	body := r.get("/?c=ops&t=message0").Body.String()
	want := `<details class="earlier"><summary class="quiet">Earlier answer (try 1)</summary><div class="rich" dir="auto"><p>It is <em>41</em>. &lt;b&gt;</p>`
	if !strings.Contains(body, want) {
		t.Errorf("the page is %s", body)
	}
}

// Nobody approves what their page does not show: one that was drawn before the arguments
// were changed has the digest of the old ones. A denial needs none.
func TestOutdatedPage(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "ops", "text", "@nod deploy", "id", "message0")
	thread, p := threadID("ops", "message0"), editCard()
	ref, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "ask/c1", Approval: &p}, false)
	drawn := regexp.MustCompile(`name="digest" value="([0-9a-f]+)"`)
	digest := drawn.FindStringSubmatch(r.get("/?c=ops&t=message0").Body.String())[1]
	changed := editCard()
	changed.Args, changed.Digest = `{"env":"dev"}`, "fedcba9876543210"
	if err := r.a.Edit(t.Context(), thread, ref, chat.Post{Key: "ask/c1", Approval: &changed}); err != nil {
		t.Fatal(err)
	}
	r.tray.did = nil
	for _, tt := range []struct {
		path, field, value string
	}{
		{"/press", "what", "approve"},
		{"/press", "what", "grant"},
		{"/react", "emoji", "white_check_mark"},
	} {
		if w := r.send(tt.path, "ref", ref.String(), tt.field, tt.value, "digest", digest); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "was changed") {
			t.Errorf("%s %s of the old card: %d %s", tt.path, tt.value, w.Code, w.Body)
		}
	}
	if len(r.tray.did) > 0 {
		t.Errorf("did %q", r.tray.did)
	}
	digest = drawn.FindStringSubmatch(r.get("/?c=ops&t=message0").Body.String())[1]
	if w := r.send("/press", "ref", ref.String(), "what", "approve", "digest", digest); w.Code != http.StatusSeeOther {
		t.Errorf("approve of the new card: %d %s", w.Code, w.Body)
	}
	for _, form := range []string{"/press", "/react", "/change"} {
		all := regexp.MustCompile(`(?s)action="`+form+`".*?</form>`).FindAllString(r.get("/?c=ops&t=message0").Body.String(), -1)
		if len(all) == 0 || !strings.Contains(all[len(all)-1], `value="`+digest+`"`) {
			t.Errorf("the form of %s does not say what it shows: %q", form, all)
		}
	}
	if w := r.send("/press", "ref", ref.String(), "what", "deny"); w.Code != http.StatusSeeOther {
		t.Errorf("deny: %d %s", w.Code, w.Body)
	}
}

// A card that needs a code opens a form for whoever presses Approve. What is sent is for
// the card as it was then; a wrong code is said, and the form stays.
func TestCodeForm(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "ops", "text", "@nod deploy", "id", "message0")
	p := editCard()
	p.Ways = []chat.Way{chat.ByCode}
	ref, _ := r.a.Post(t.Context(), threadID("ops", "message0"), chat.Post{Key: "ask/c1", Approval: &p}, false)
	seen := func(who string) string { return r.get("/?c=ops&t=message0&as=" + who).Body.String() }
	if body := seen("ben"); !strings.Contains(body, `value="code"`) || !strings.Contains(body, `value="allow"`) || strings.Contains(body, `name="code"`) {
		t.Errorf("ben sees %s", body)
	}
	r.send("/press", "ref", ref.String(), "what", "code", "as", "ben", "digest", p.Digest)
	if !strings.Contains(seen("ben"), `name="code"`) || strings.Contains(seen("ada"), `name="code"`) {
		t.Error("the form is not ben's alone")
	}
	for _, digits := range []string{"654321", "123456"} {
		values := url.Values{"ref": {ref.String()}, "as": {"ben"}, "id": {newID()}, "call": {"c1"}, "digest": {"of a newer card"}, "field": {"code"}, "code": {digits}}
		w := r.submit("/rerun", "application/x-www-form-urlencoded", values.Encode())
		if wrong := w.Code == http.StatusUnprocessableEntity && strings.Contains(w.Body.String(), "This code is wrong."); wrong != (digits == "654321") {
			t.Errorf("%s: %d %s", digits, w.Code, w.Body)
		}
		if stays := strings.Contains(seen("ben"), `name="code"`); stays != (digits == "654321") {
			t.Errorf("%s: the form stays: %v", digits, stays)
		}
	}
	r.tray.Do(func() {
		if len(r.tray.Codes) != 1 || r.tray.Codes[0].Digest != p.Digest || r.tray.Codes[0].By.ID != "ben" {
			t.Errorf("put %+v", r.tray.Codes)
		}
	})
}
