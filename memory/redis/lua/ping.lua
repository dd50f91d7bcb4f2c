-- ping writes, and leaves nothing behind.
redis.call('SET', tag .. ':ping', '1', 'EX', '60')
redis.call('DEL', tag .. ':ping')
return 1
