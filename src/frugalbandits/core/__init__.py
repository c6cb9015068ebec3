"""What a decision needs: the contract, the policies and the session. numpy is all that it imports."""
