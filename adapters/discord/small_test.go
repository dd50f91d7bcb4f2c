package discord

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/internal/fakediscord"
)

// Emoji that Discord knows only with the marks of colour within them are found.
func TestColouredSequences(t *testing.T) {
	for bare, want := range map[string]string{
		"1\u20e3": "1\ufe0f\u20e3", "❤\u200d🔥": "❤\ufe0f\u200d🔥", "✔": "✔\ufe0f",
	} {
		found := false
		for _, form := range coloured(bare) {
			found = found || form == want
		}
		if !found {
			t.Errorf("%q is tried as %q", bare, coloured(bare))
		}
	}
}

// Files are fetched from where Discord keeps them, and from nowhere else.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	asked := ""
	o := build(t, fakediscord.Options{})
	o.run(via(func(r *http.Request) (int, string, bool) {
		foreign := r.URL.Host != strings.TrimPrefix(strings.TrimSuffix(o.fake.URL(), "/api"), "http://")
		if foreign {
			asked = r.URL.Host
		}
		return http.StatusOK, "secret", foreign
	}))
	files := o.a.attached(t.Context(), direct("1"), []api.Attachment{
		{ID: "1", Filename: "a.txt", URL: "http://169.254.169.254/latest", Size: 5}, {ID: "2", Filename: "b.txt", URL: "http://cdn.discordapp.com/b", Size: 5},
	})
	if asked != "" || files[0].Blob+files[1].Blob != "" {
		t.Errorf("it asked %s: %+v", asked, files)
	}
	files = o.a.attached(t.Context(), direct("1"), []api.Attachment{{ID: "1", Filename: "a.txt", URL: "https://cdn.discordapp.com/a", Size: 5}})
	if asked != "cdn.discordapp.com" || files[0].Blob == "" {
		t.Errorf("it asked %s: %+v", asked, files)
	}
}

func TestArchiveAfter(t *testing.T) {
	for least, want := range map[time.Duration]int{0: 1440, 24 * time.Hour: 1440, 25 * time.Hour: 4320, 96 * time.Hour: 10080, 1000 * time.Hour: 10080} {
		if got := archiveAfter(least); got != want {
			t.Errorf("%v: %d minutes", least, got)
		}
	}
}

// A thread is open for as long as an approval may wait.
func TestThreadStaysOpen(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, func(o *Options) { o.Archive = 48 * time.Hour })
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	o.post(thread(o.general, id), answer("a", "done"), false)
	if body := string(o.fake.Calls(threadRoute)[0].Body); !strings.Contains(body, `"auto_archive_duration":4320`) {
		t.Errorf("it is made with %s", body)
	}
}

// A reaction in a thread that was archived opens it.
func TestReactInArchived(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	refusals := 0
	o.run(via(func(r *http.Request) (int, string, bool) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/reactions/") && refusals == 0 {
			refusals++
			return http.StatusBadRequest, `{"code":50083,"message":"Thread is archived"}`, true
		}
		return 0, "", false
	}))
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	ref := o.post(th, answer("a", "done"), false)
	o.fake.Archive(id, true, false)
	if err := o.a.React(t.Context(), ref, "👀"); err != nil || refusals != 1 || o.fake.Threads(o.general)[0].Archived {
		t.Errorf("%v, threads %+v", err, o.fake.Threads(o.general))
	}
}

// Attachments have a description for people who can't see them.
func TestAltText(t *testing.T) {
	t.Parallel()
	said := ""
	o := build(t, fakediscord.Options{})
	o.run(via(func(r *http.Request) (int, string, bool) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			body, _ := r.GetBody()
			raw, _ := io.ReadAll(body)
			said = string(raw)
		}
		return 0, "", false
	}))
	o.in.Do(func() { o.in.Blobs["b"] = []byte("\x89PNG") })
	o.post(direct(o.fake.DM(o.ada)), chat.Post{Key: "f", File: &chat.File{Name: "sales.png", MediaType: "image/png", Blob: "b"}}, false)
	const alt = `"description":"The file sales.png of this conversation"`
	if !strings.Contains(said, `"attachments":[{`+alt) {
		t.Errorf("it says %.900s", said)
	}
}

// Why an approval is asked for is words of others: it hides nothing, and is no
// markup. Neither does the file of long arguments.
func TestNothingHidden(t *testing.T) {
	p := asking(`{"a":"` + strings.Repeat("x", 900) + "\u202e" + `"}`)
	p.Why = "the file \u202e**approved**"
	got := layout.ApprovalPart(p, cardOf(p))
	long := layout.PlainApproval(p, cardOf(p))
	all := strings.Join(got.Card, "\n") + long.Content
	if strings.Contains(all+string(long.File.Data), "\u202e") || strings.Contains(all, "**approved**") {
		t.Errorf("it hides something: %q", all)
	}
}

// Who may decide is named as people are, and nobody is pinged by that.
func TestRemarkNamesPeople(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	ref := o.post(thread(o.general, id), answer("a", "done"), false)
	text := "Your reaction does not count: only these may decide: requester, user:" + o.cleo + ", role:" + o.guild + "."
	if err := o.a.Whisper(t.Context(), thread(o.general, id), chat.User{ID: chat.UserID(o.bob)}, ref, text); err != nil {
		t.Fatal(err)
	}
	posts := o.fake.Posts(id)
	last := posts[len(posts)-1]
	want := "-# <@" + o.bob + "> Your reaction does not count: only these may decide: whoever asked, <@" + o.cleo + ">, <@&" + o.guild + ">."
	if last.Content != want || len(last.Pings) > 0 {
		t.Errorf("%q, which pings %q", last.Content, last.Pings)
	}
}
