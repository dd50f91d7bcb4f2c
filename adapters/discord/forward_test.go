package discord

import (
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/fakediscord"
)

// A forwarded message is quoted, with or without the sender's own words. Its files come
// along, and a mention in it calls nobody.
func TestForwarded(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, nil)
	evil := o.fake.Say(o.bob, o.fake.AddChannel(o.guild, "elsewhere"), o.mention()+" book room EVIL", fakediscord.With{Files: []fakediscord.File{
		{Name: "notes.txt", Data: []byte("the files of it")},
	}})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 }) // bob himself called it
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, o.general, "", fakediscord.With{Forward: evil})
	o.fake.Say(o.ada, dm, "", fakediscord.With{Forward: evil})
	o.fake.Say(o.ada, dm, "is that so?", fakediscord.With{Forward: evil})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
	o.fake.Say(o.bob, o.general, o.mention()+" what is that?") // behind what was passed on there
	o.in.Await(t, func() bool { return len(o.in.Messages) == 4 && o.in.Messages[3].Text == "what is that?" })
	for i, text := range []string{"", "is that so?"} {
		m := o.in.Messages[i+1]
		if m.Thread != direct(dm) || m.From.ID != chat.UserID(o.ada) || m.Text != text {
			t.Errorf("%d: in %v %q says %q", i, m.Thread, m.From.Name, m.Text)
		}
		if len(m.Quoted) != 1 || !strings.Contains(m.Quoted[0].Text, "book room EVIL") || m.Quoted[0].From != (chat.User{Name: "somebody (forwarded)"}) {
			t.Errorf("%d: it quotes %+v", i, m.Quoted)
		}
		if len(m.Files) != 1 || m.Files[0].Name != "notes.txt" {
			t.Errorf("%d: its files are %+v", i, m.Files)
		}
	}
}

// The files of a message that somebody answers with a question come along, where the
// conversation does not hold them.
func TestAnsweredFiles(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, func(o *Options) { o.Follow = "auto" })
	file := func(name string) fakediscord.With {
		return fakediscord.With{Files: []fakediscord.File{{Name: name, Data: []byte("the files of it")}}}
	}
	ask := func(channel, text, of string) {
		o.fake.Say(o.ada, channel, o.mention()+" "+text, fakediscord.With{ReplyTo: of})
	}
	ask(o.general, "first?", o.fake.Say(o.ada, o.general, "the report", file("report.txt")))
	th := o.fake.OpenThread(o.bob, o.general, "", "talk")
	ask(th, "second?", o.fake.Say(o.bob, th, "the plan", file("plan.txt")))
	dm := o.fake.DM(o.ada)
	ask(dm, "third?", o.fake.Say(o.ada, dm, "the notes", file("notes.txt"))) // which were heard as they came
	o.in.Await(t, func() bool { return len(o.in.Messages) == 4 })
	for _, m := range o.in.Messages {
		var names []string
		for _, f := range m.Files {
			names = append(names, f.Name)
		}
		want := map[string]string{"first?": "report.txt", "second?": "plan.txt", "the notes": "notes.txt"}[m.Text]
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q comes with %q, want %q", m.Text, got, want)
		}
	}
}
