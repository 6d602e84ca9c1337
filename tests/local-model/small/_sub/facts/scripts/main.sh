#!/bin/sh
echo '{"colour": "green"}'
