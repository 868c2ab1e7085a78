from dtrain_lab.rank.script import main

if __name__ == "__main__":
    main()
