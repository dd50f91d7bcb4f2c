package setup

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord"
	"nod/adapters/discord/api"
	"nod/adapters/discord/gateway"
	"nod/chat"
	"nod/front"
)

// ManifestOptions say what the app has to be able to do.
type ManifestOptions struct {
	Token    string // for the application's id; may be empty
	Follow   string
	Commands bool
	Members  bool // people who have a role are written to directly
	Roles    bool // an approver rule names a role
	Reads    bool // messages of a bot are alerts
}

// needs are the permissions that the bot can't be without, with what for.
var needs = []struct {
	bit  int64
	name string
	why  string
}{
	{discordgo.PermissionViewChannel, "View Channels", "hear mentions"},
	{discordgo.PermissionSendMessages, "Send Messages", "answer where no thread can be made"},
	{discordgo.PermissionSendMessagesInThreads, "Send Messages in Threads", "answer"},
	{discordgo.PermissionCreatePublicThreads, "Create Public Threads", "a thread for each mention"},
	{discordgo.PermissionReadMessageHistory, "Read Message History", "what was missed; reactions"},
	{discordgo.PermissionAddReactions, "Add Reactions", "✅ and ❌ on approvals"},
	{discordgo.PermissionAttachFiles, "Attach Files", "long answers and arguments"},
}

func permissions() int64 {
	var all int64
	for _, n := range needs {
		all |= n.bit
	}
	return all
}

// Manifest writes what to do at Discord: the address that invites the bot with
// the least permissions, and the intents to switch on.
func Manifest(o ManifestOptions) (string, error) {
	scopes := "bot"
	if o.Commands {
		scopes += " applications.commands"
	}
	id := api.ApplicationID(o.Token)
	query := url.Values{"scope": {scopes}, "permissions": {strconv.FormatInt(permissions(), 10)}}
	invite := "https://discord.com/oauth2/authorize?client_id=" + chat.FirstOf(id, "APPLICATION_ID") + "&" + query.Encode()
	var b strings.Builder
	fmt.Fprintf(&b, "Invite the bot to a server:\n  %s\n", invite)
	if id == "" {
		b.WriteString("  (APPLICATION_ID is on the page General Information of the application)\n")
	}
	b.WriteString("\nPermissions in it:\n")
	for _, n := range needs {
		fmt.Fprintf(&b, "  %-26s %s\n", n.name, n.why)
	}
	if o.Roles {
		b.WriteString("  Where a role of approvers is not mentionable, Mention @everyone, @here and All Roles rings with it; without, up to 20 members are named one by one.\n")
	}
	b.WriteString("  In the text of voice channels it needs Connect too; for emoji of other servers Use External Emoji.\n")
	b.WriteString("\nPrivileged intents to switch on (Developer Portal, Bot):\n")
	content := false
	switch {
	case o.Reads:
		content = true
		b.WriteString("  Message Content Intent     read the alerts of a bot\n")
	case o.Follow == front.FollowThread || o.Follow == front.FollowCallers:
		content = true
		b.WriteString("  Message Content Intent     follow threads without a mention\n")
	case o.Follow == discord.FollowAuto:
		b.WriteString("  Message Content Intent     may stay off: then each message in a thread needs a mention\n")
	default:
		if !o.Members {
			b.WriteString("  none\n")
		}
	}
	if o.Members {
		b.WriteString("  Server Members Intent      who has the role of an approver, for direct messages\n")
	}
	fmt.Fprintf(&b, "\nIntents that it asks for when it connects: %d\n  GUILDS, GUILD_MESSAGES, GUILD_MESSAGE_REACTIONS, DIRECT_MESSAGES, DIRECT_MESSAGE_REACTIONS", gateway.Intents(content))
	if content {
		b.WriteString(", MESSAGE_CONTENT")
	}
	b.WriteString("\n\nLeave the Interactions Endpoint URL of the application empty: interactions come through the Gateway.\n")
	return b.String(), nil
}
