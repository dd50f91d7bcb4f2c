package discord

import (
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/fakediscord"
)

// What somebody passes on are not their own words, with or without words of theirs: it
// is quoted, its files come along, and a mention in it calls nobody.
func TestForwarded(t *testing.T) {
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
		if len(m.Quoted) != 1 || !strings.Contains(m.Quoted[0].Text, "book room EVIL") || m.Quoted[0].From.ID != "" {
			t.Errorf("%d: it quotes %+v", i, m.Quoted)
		}
		if len(m.Files) != 1 || m.Files[0].Name != "notes.txt" {
			t.Errorf("%d: its files are %+v", i, m.Files)
		}
	}
}
