package fakeslack

import (
	"encoding/json"
	"errors"
	"slices"
)

// method is one method of the Web API. The token needs one of scopes; methods whose
// scopes depend on the channel check them themselves. app says that it takes the
// app-level token.
type method struct {
	do     func(*Server, *call) (reply, error)
	limit  limit
	scopes []string
	app    bool
}

// methods are the methods that the fake knows, with their published limits
// (https://docs.slack.dev/apis/web-api/rate-limits).
var methods = map[string]method{
	"auth.test":             {do: authTest, limit: special},
	"apps.connections.open": {do: openConnection, limit: tier3, app: true},
	"team.info":             {do: teamInfo, limit: tier3, scopes: []string{"team:read"}},
	"users.info":            {do: usersInfo, limit: tier4, scopes: []string{"users:read"}},
	"users.list":            {do: usersList, limit: tier2, scopes: []string{"users:read"}},
	"bots.info":             {do: botsInfo, limit: tier3, scopes: []string{"users:read"}},
	"usergroups.list":       {do: groupsList, limit: tier2, scopes: []string{"usergroups:read"}},
	"usergroups.users.list": {do: groupUsers, limit: tier2, scopes: []string{"usergroups:read"}},

	"blocks.validate": {do: validateBlocks, limit: special},

	"chat.postMessage":   {do: postMessage, limit: posts, scopes: []string{"chat:write"}},
	"chat.update":        {do: updateMessage, limit: tier3, scopes: []string{"chat:write"}},
	"chat.delete":        {do: deleteMessage, limit: tier3, scopes: []string{"chat:write"}},
	"chat.postEphemeral": {do: postEphemeral, limit: tier4, scopes: []string{"chat:write"}},
	"chat.getPermalink":  {do: getPermalink, limit: special},
	"chat.startStream":   {do: startStream, limit: tier2, scopes: []string{"chat:write"}},
	"chat.appendStream":  {do: appendStream, limit: tier4, scopes: []string{"chat:write"}},
	"chat.stopStream":    {do: stopStream, limit: tier2, scopes: []string{"chat:write"}},

	"conversations.info":    {do: conversationInfo, limit: tier3},
	"conversations.history": {do: history, limit: tier3},
	"conversations.replies": {do: threadReplies, limit: tier3},
	"conversations.open":    {do: openConversation, limit: tier3, scopes: []string{"im:write", "mpim:write"}},
	"conversations.members": {do: conversationMembers, limit: tier4},
	"conversations.join":    {do: joinConversation, limit: tier3, scopes: []string{"channels:join"}},
	"users.conversations":   {do: userConversations, limit: tier3},

	"reactions.add":    {do: addReaction, limit: tier3, scopes: []string{"reactions:write"}},
	"reactions.remove": {do: removeReaction, limit: tier2, scopes: []string{"reactions:write"}},
	"reactions.get":    {do: getReactions, limit: tier3, scopes: []string{"reactions:read"}},
	"reactions.list":   {do: listReactions, limit: tier2, scopes: []string{"reactions:read"}},

	"assistant.search.context":              {do: searchContext, limit: limit{rate: 10}, scopes: []string{"search:read.public"}},
	"assistant.threads.setStatus":           {do: setStatus, limit: statuses, scopes: []string{"assistant:write", "chat:write"}},
	"assistant.threads.setTitle":            {do: setTitle, limit: tier4, scopes: []string{"assistant:write"}},
	"assistant.threads.setSuggestedPrompts": {do: setPrompts, limit: tier4, scopes: []string{"assistant:write"}},
	"agents.sessions.setStatus":             {do: setSession, limit: tier3, scopes: []string{"chat:write"}},
	"agents.sessions.rename":                {do: renameSession, limit: tier3, scopes: []string{"chat:write"}},

	"views.open":    {do: openView, limit: tier4},
	"views.update":  {do: updateView, limit: tier4},
	"views.publish": {do: publishView, limit: tier4},

	"files.getUploadURLExternal":   {do: uploadURL, limit: tier4, scopes: []string{"files:write"}},
	"files.completeUploadExternal": {do: completeUpload, limit: tier4, scopes: []string{"files:write"}},
	"files.info":                   {do: fileInfo, limit: tier4, scopes: []string{"files:read"}},
}

// AllScopes are the scopes of a bot that may do everything the fake knows.
func AllScopes() []string {
	return []string{
		"app_mentions:read", "assistant:write", "channels:history", "channels:join", "channels:read", "chat:write",
		"chat:write.customize", "commands", "files:read", "files:write", "groups:history", "groups:read", "im:history",
		"im:read", "im:write", "metadata.message:read", "mpim:history", "mpim:read", "mpim:write", "reactions:read",
		"reactions:write", "search:read.im", "search:read.mpim", "search:read.private", "search:read.public", "team:read", "usergroups:read", "users:read",
	}
}

// channelScope is the scope for a conversation of that kind: channels:history,
// im:read.
func channelScope(k Kind, what string) string {
	prefix := map[Kind]string{Public: "channels", Private: "groups", IM: "im", MPIM: "mpim"}
	return prefix[k] + ":" + what
}

func authTest(s *Server, _ *call) (reply, error) {
	out := reply{
		"url": "https://fake.slack.com/", "team": "fake", "user": BotName, "team_id": Team, "user_id": BotUser,
		"bot_id": BotID, "is_enterprise_install": false,
	}
	if s.opt.Enterprise != "" {
		out["enterprise_id"] = s.opt.Enterprise
	}
	return out, nil
}

// validateBlocks judges blocks and does nothing.
func validateBlocks(_ *Server, c *call) (reply, error) {
	err := checkBlocks(json.RawMessage(c.args["blocks"]), inMessage)
	var e *apiError
	if errors.As(err, &e) {
		return nil, refuse(e.code)
	}
	return nil, err
}

func teamInfo(*Server, *call) (reply, error) {
	return reply{"team": reply{"id": Team, "name": "fake", "domain": "fake", "icon": reply{}}}, nil
}

func usersInfo(s *Server, c *call) (reply, error) {
	u := s.people.users[c.args["user"]]
	if u == nil {
		return nil, refuse("user_not_found")
	}
	if u.Hidden {
		return nil, refuse("user_not_visible")
	}
	return reply{"user": s.renderUser(u)}, nil
}

func usersList(s *Server, c *call) (reply, error) {
	page, next, err := paged(s.people.order, c.args, 100, 1000)
	if err != nil {
		return nil, err
	}
	members := []reply{}
	for _, id := range page {
		members = append(members, s.renderUser(s.people.users[id]))
	}
	return reply{"members": members, "cache_ts": s.now().Unix(), "response_metadata": cursorTo(next)}, nil
}

func botsInfo(s *Server, c *call) (reply, error) {
	u := s.people.byBotID(c.args["bot"])
	if u == nil {
		return nil, refuse("bot_not_found")
	}
	app := App
	if u.BotID != BotID {
		app = "A" + u.BotID[1:]
	}
	return reply{"bot": reply{
		"id": u.BotID, "deleted": u.Deleted, "name": u.Name, "app_id": app, "user_id": u.ID, "updated": s.now().Unix(),
		"icons": reply{},
	}}, nil
}

func groupsList(s *Server, c *call) (reply, error) {
	groups := []reply{}
	for _, g := range s.people.groups {
		if g.Disabled && !c.args.truth("include_disabled") {
			continue
		}
		out := reply{
			"id": g.ID, "team_id": Team, "is_usergroup": true, "name": g.Handle, "handle": g.Handle,
			"description": "", "is_external": false, "date_delete": 0, "user_count": len(g.Users),
		}
		if c.args.truth("include_users") {
			out["users"] = slices.Clone(g.Users)
		}
		groups = append(groups, out)
	}
	return reply{"usergroups": groups}, nil
}

func groupUsers(s *Server, c *call) (reply, error) {
	g := s.people.group(c.args["usergroup"])
	if g == nil || g.Disabled && !c.args.truth("include_disabled") {
		return nil, refuse("no_such_subteam")
	}
	return reply{"users": append([]string{}, g.Users...)}, nil
}
