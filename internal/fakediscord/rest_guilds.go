package fakediscord

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// Application flags, set where a privileged intent is switched on for an
// application in few guilds:
// https://discord.com/developers/docs/resources/application#application-object-application-flags
const (
	limitedPresence = 1 << 13
	limitedMembers  = 1 << 15
	limitedContent  = 1 << 19
)

func (s *Server) applicationFlags() int {
	flags := 0
	for intent, flag := range map[int]int{
		intentPresences: limitedPresence, IntentGuildMembers: limitedMembers, IntentMessageContent: limitedContent,
	} {
		if s.options.Privileged&intent != 0 {
			flags |= flag
		}
	}
	return flags
}

// botObject is the bot's user as only the bot sees it.
func (s *Server) botObject() object {
	o := userObject(s.bot)
	o["verified"], o["mfa_enabled"], o["locale"], o["email"] = true, true, "en-US", nil
	return o
}

func (s *Server) getGateway(*request) (any, *apiError) {
	return object{"url": "ws" + s.base[len("http"):]}, nil
}

func (s *Server) getGatewayBot(*request) (any, *apiError) {
	return object{"url": "ws" + s.base[len("http"):], "shards": s.options.Shards, "session_start_limit": s.startLimit()}, nil
}

func (s *Server) getMe(*request) (any, *apiError) { return s.botObject(), nil }

func (s *Server) getUser(q *request) (any, *apiError) {
	u := s.users[q.PathValue("user")]
	if u == nil {
		return nil, refusal(http.StatusNotFound, 10013, "Unknown User")
	}
	return userObject(u), nil
}

func (s *Server) getApplication(*request) (any, *apiError) {
	owner := &user{id: s.app.id, name: "owner"}
	if s.appOwner != "" {
		owner = s.users[s.appOwner]
	}
	return object{
		"id": s.app.id, "name": s.bot.name, "icon": nil, "description": "", "type": nil, "verify_key": "00",
		"flags": s.applicationFlags(), "flags_new": strconv.Itoa(s.applicationFlags()), "redirect_uris": []string{},
		"interactions_endpoint_url": nil, "role_connections_verification_url": nil, "owner": userObject(owner),
		"approximate_guild_count": len(s.guilds), "approximate_user_install_count": 0,
		"approximate_user_authorization_count": 0, "explicit_content_filter": 0, "team": nil,
		"eligible_oauth2_scopes": []string{}, "bot": userObject(s.bot), "bot_public": s.options.Public, "bot_require_code_grant": false,
	}, nil
}

// getMyGuilds gives up to 200, in the order of their ids.
func (s *Server) getMyGuilds(q *request) (any, *apiError) {
	const most = 200
	limit, after := most, number(q.URL.Query().Get("after"))
	if text := q.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return nil, badForm("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 200.")
		}
		limit = n
	}
	out := []object{}
	for _, id := range s.guildOrder {
		g := s.guilds[id]
		if number(id) <= after || len(out) == limit {
			continue
		}
		out = append(out, object{
			"id": g.id, "name": g.name, "icon": nil, "banner": nil, "owner": false, "features": []string{},
			"permissions": strconv.FormatInt(guildPermissions(g, s.bot), 10),
		})
	}
	return out, nil
}

// getMyChannels gives nothing: a bot can't list its DMs.
func (s *Server) getMyChannels(*request) (any, *apiError) { return []object{}, nil }

func (s *Server) openDM(q *request) (any, *apiError) {
	var body struct {
		Recipient string `json:"recipient_id"`
	}
	if bad := q.decode(&body); bad != nil {
		return nil, bad
	}
	u := s.users[body.Recipient]
	if u == nil {
		return nil, refusal(http.StatusNotFound, 10013, "Unknown User")
	}
	if u == s.bot {
		return nil, refusal(http.StatusBadRequest, 50007, "Cannot send messages to this user")
	}
	return s.channelObject(s.dm(u)), nil
}

func (s *Server) guildOf(q *request) (*guild, *apiError) {
	g := s.guilds[q.PathValue("guild")]
	if g == nil {
		return nil, refusal(http.StatusNotFound, 10004, "Unknown Guild")
	}
	if g.members[s.bot.id] == nil {
		return nil, refusal(http.StatusForbidden, 50001, "Missing Access")
	}
	return g, nil
}

func (s *Server) getGuild(q *request) (any, *apiError) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return nil, bad
	}
	return s.guildObject(g), nil
}

func (s *Server) getRoles(q *request) (any, *apiError) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return nil, bad
	}
	return roleObjects(g), nil
}

func roleObjects(g *guild) []object {
	out := []object{}
	for _, r := range g.roles {
		out = append(out, roleObject(r))
	}
	return out
}

func (s *Server) getGuildChannels(q *request) (any, *apiError) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return nil, bad
	}
	return s.channelObjects(g), nil
}

// channelObjects gives a guild's channels, not its threads.
func (s *Server) channelObjects(g *guild) []object {
	out := []object{}
	for _, id := range g.channels {
		if c := s.channels[id]; !c.thread() {
			out = append(out, s.channelObject(c))
		}
	}
	return out
}

func (s *Server) getMember(q *request) (any, *apiError) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return nil, bad
	}
	id := q.PathValue("user")
	if id == "@me" {
		id = s.bot.id
	}
	if s.users[id] == nil {
		return nil, refusal(http.StatusNotFound, 10013, "Unknown User")
	}
	if g.members[id] == nil {
		return nil, refusal(http.StatusNotFound, 10007, "Unknown Member")
	}
	return memberWithUser(g, s.users[id]), nil
}

// getMembers lists members by id, which takes the members intent
// (https://discord.com/developers/docs/resources/guild#list-guild-members).
func (s *Server) getMembers(q *request) (any, *apiError) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return nil, bad
	}
	if s.options.Privileged&IntentGuildMembers == 0 {
		return nil, missingAccess
	}
	limit, after := 1, number(q.URL.Query().Get("after"))
	if text := q.URL.Query().Get("limit"); text != "" {
		if limit = int(number(text)); limit < 1 || limit > 1000 {
			return nil, badForm("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 1000.")
		}
	}
	ids := slices.SortedFunc(maps.Keys(g.members), func(x, y string) int { return cmp.Compare(number(x), number(y)) })
	out := []object{}
	for _, id := range ids {
		if number(id) > after && len(out) < limit {
			out = append(out, memberWithUser(g, s.users[id]))
		}
	}
	return out, nil
}

func (s *Server) guildObject(g *guild) object {
	return object{
		"id": g.id, "name": g.name, "icon": nil, "description": nil, "home_header": nil, "splash": nil,
		"discovery_splash": nil, "features": []string{}, "banner": nil, "owner_id": g.owner, "application_id": nil,
		"region": "deprecated", "afk_channel_id": nil, "afk_timeout": 300, "system_channel_id": nil,
		"system_channel_flags": 0, "widget_enabled": false, "widget_channel_id": nil, "verification_level": 0,
		"roles": roleObjects(g), "default_message_notifications": 0, "mfa_level": 0, "explicit_content_filter": 0,
		"max_presences": nil, "max_members": 500000, "max_stage_video_channel_users": 50,
		"max_video_channel_users": 25, "vanity_url_code": nil, "premium_tier": g.tier, "premium_subscription_count": 0,
		"preferred_locale": "en-US", "rules_channel_id": nil, "safety_alerts_channel_id": nil,
		"public_updates_channel_id": nil, "premium_progress_bar_enabled": false, "nsfw": false, "nsfw_level": 0,
		"emojis": []object{}, "stickers": []object{}, "incidents_data": nil,
	}
}

// guildEvent is a guild as GUILD_CREATE has it. Without the members intent it
// names the bot alone.
func (s *Server) guildEvent(g *guild, members bool) object {
	o := s.guildObject(g)
	o["joined_at"], o["large"], o["unavailable"], o["member_count"] = stamp(g.members[s.bot.id].joined), false, false, len(g.order)
	for _, key := range []string{"presences", "voice_states", "stage_instances", "guild_scheduled_events", "soundboard_sounds"} {
		o[key] = []object{}
	}
	list := []object{}
	for _, id := range g.order {
		if members || id == s.bot.id {
			list = append(list, memberWithUser(g, s.users[id]))
		}
	}
	o["members"] = list
	threads, channels := []object{}, []object{}
	for _, c := range s.activeThreads(g) {
		if sees(c, s.bot) {
			threads = append(threads, s.channelObject(c))
		}
	}
	for _, c := range s.channelObjects(g) {
		delete(c, "guild_id")
		channels = append(channels, c)
	}
	o["threads"], o["channels"] = threads, channels
	return o
}
