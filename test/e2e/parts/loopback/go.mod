module capi-caretaker.io/test/e2e/parts/loopback

go 1.26.0
