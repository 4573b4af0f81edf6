-- The last step of leaving: the profile, and everything that is stored under the user, at once.
--
-- KEYS[1] profile      hash
-- KEYS[2] sessions     set
-- KEYS[3] password     string
-- KEYS[4] blocked      set
-- KEYS[5] blocked_by   set
-- KEYS[6] unread       string
-- KEYS[7] applied      hash
-- KEYS[8] notifications    zset
-- KEYS[9] unread_by_site   hash
-- KEYS[10] totp            hash
-- KEYS[11] totp_draft      string
-- KEYS[12] passkeys        hash
-- KEYS[13] recovery_codes  set
-- KEYS[14] networks        zset
-- ARGV[1] what stands before a session id in the key of a session (same slot as KEYS)
-- ARGV[2] what stands before it in the key of a provider's session
-- ARGV[3] what stands before a comment id in the key of its upvoters
--
-- Returns 1, or 0 when the user was gone already.

for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  redis.call('DEL', ARGV[1] .. id, ARGV[2] .. id)
end
for _, text in ipairs(redis.call('ZRANGE', KEYS[8], 0, -1)) do
  local notice = cjson.decode(text)
  if notice.notification_type == 'upvote' then redis.call('DEL', ARGV[3] .. notice.comment_id) end
end
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9])
redis.call('DEL', KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14])
return redis.call('DEL', KEYS[1])
