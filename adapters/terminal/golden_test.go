package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
)

// goldenPosts are posts of each kind: as it comes first, and what becomes of it.
func goldenPosts() map[string][]chat.Post {
	card := func(change func(*chat.Approval)) chat.Post {
		a := approval("c1", `deploy {"env":"prod"}`)
		a.Number, a.Headline, a.Approvers, a.Digest = 3, "Approval 3: deploy", []string{"requester", "user:ben"}, "46f1c00a9586"
		if change != nil {
			change(&a)
		}
		return chat.Post{Key: "ask/c1", Approval: &a}
	}
	decided := func(o chat.Outcome, headline string) chat.Post {
		return card(func(a *chat.Approval) {
			a.Outcome, a.Headline, a.By = o, headline, []chat.User{{ID: me, Name: "ada"}}
		})
	}
	notice := func(text string) chat.Post {
		return chat.Post{Key: "notice", Text: &chat.Text{Notice: true, Markdown: text}}
	}
	running := decided(chat.Approved, "Approved by ada · running")
	return map[string][]chat.Post{
		"approval": {card(func(a *chat.Approval) { a.Grant = time.Hour })},
		"approval-preview": {card(func(a *chat.Approval) {
			a.Preview = &chat.Preview{Text: "would stop:\n  api-1\nand start 2 of version 7"}
		})},
		"approval-anew": {card(func(a *chat.Approval) {
			a.Why = "The preview changed since this was approved, so it asks anew."
			a.Preview = &chat.Preview{Text: "  would stop:\n    api-1\n+   db-1\n-   api-2", Marked: true}
		})},
		"approval-outside": {card(func(a *chat.Approval) {
			a.Why, a.Marks = "This turn holds content from outside (the page example.com), so it asks.", []string{"env: from the page example.com, not from a person"}
		})},
		"approval-changed": {card(nil), card(func(a *chat.Approval) {
			a.Args, a.Was, a.Editors = `{"env":"staging"}`, `{"env":"prod"}`, []chat.User{{ID: me, Name: "ada"}}
		}), notice("Changed. All votes so far are void: the card shows what would run now.")},
		"approval-remind": {card(nil), notice("Approval 3: `deploy`, asked by ada. It still waits for a decision. 15 min left.")},
		"approval-more": {
			card(func(a *chat.Approval) { a.Unheeded, a.Approvers = 15*time.Minute, append(a.Approvers, "user:cid") }),
			notice("Approval 3: `deploy`, asked by ada. Nobody decided for 15 min, so `user:cid` may decide too. 15 min left."),
		},
		"approval-done":    {card(nil), running, decided(chat.Approved, "Approved by ada · done in 2 s")},
		"approval-failed":  {card(nil), running, decided(chat.Approved, "Approved by ada · failed: exit status 1")},
		"approval-unknown": {card(nil), running, decided(chat.Approved, "Approved by ada · outcome unknown")},
		"approval-denied":  {card(nil), decided(chat.Denied, "Denied by ada: too late in the day")},
		"approval-expired": {card(nil), decided(chat.Expired, "Expired")},
		"waiting":          {notice("2 approvals wait for you:\n\n- Approval 3: `deploy`, asked by ada, 29 min 0 s left\n- Approval 4: `restart`, asked by ada, 12 min 0 s left")},
		"question":         {notice("ops asks:\n```\nWhere to?\n```\nada, write the answer here.")},
	}
}

// The golden files hold what stands on the terminal for each kind of post.
func TestGolden(t *testing.T) {
	for name, posts := range goldenPosts() {
		var out buffer
		a := start(newBot(t, ""), Options{In: strings.NewReader(""), Out: &out})
		for i, p := range posts {
			ref := postRef(Thread, p.Key)
			var err error
			if i == 0 || p.Text != nil {
				_, err = a.Post(t.Context(), Thread, p, false)
			} else {
				err = a.Edit(t.Context(), Thread, ref, p)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		golden(t, name, out.String())
	}
}

// golden compares with a golden file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "terminal", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
